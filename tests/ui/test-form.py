# SPDX-License-Identifier: Apache-2.0
"""The form of a new run says what is wrong as it is typed, and trains nothing that is."""
import time

from gradus_ui import ENDLESS, case, main
from uibot import wait

WRONG = (
    ('Epochs', 'abc', 'no whole number'),
    ('Epochs', '1.5', 'no whole number'),
    ('Epochs', '0', '1'),
    ('Epochs', '', 'number is needed'),
    ('Batch Size', '-3', '1'),
    ('Learning Rate', 'fast', 'no number'),
    ('Learning Rate', '-1', '0'),
    ('Seed', '1e400', 'number'),
)


def field(app, name):
    return app.find('text', name, within=app.window('New Run'))


def is_ready(app):
    form = app.window('New Run')
    return app.is_sensitive(app.find('push button', 'Train', within=form))


@case
def wrong_values_are_refused_as_typed(desk):
    app = desk.start()
    app.press('Straight Line')
    app.press('New Run')
    wait(lambda: is_ready(app), 'form that can be trained')
    for name, text, said in WRONG:
        entry = field(app, name)
        before = app.text(entry)
        assert entry.queryEditableText().setTextContents(text)
        wait(lambda: not is_ready(app), 'refusal of %s = %r' % (name, text))
        app.find('label', said, contains=True, within=app.window('New Run'))
        assert entry.queryEditableText().setTextContents(before)
        wait(lambda: is_ready(app), 'form that can be trained again')
    assert app.log.names() == []


@case
def right_values_are_trained(desk):
    app = desk.start()
    app.press('New Run')
    form = app.window('New Run')
    app.press('Cancel', within=form)
    wait(lambda: len(app.windows()) == 1, 'closed form')
    app.press('Straight Line')
    app.press('New Run')
    form = app.window('New Run')
    app.set_text('Name', 'shorter', within=form)
    app.set_text('Epochs', '3', within=form)
    app.set_text('Learning Rate', '0.01', within=form)
    app.find('label', '84', contains=True, within=form)
    app.press('Train', within=form)
    app.log.wait_status('shorter', 'finished')
    assert app.log.step('shorter') == 84
    rates = app.log.query("SELECT DISTINCT value FROM scalar JOIN series ON series.id = series "
                          "WHERE name = 'learning_rate'")
    assert [round(row[0], 6) for row in rates] == [0.01], rates


def choose_cosine(app, form):
    """With the keys: the list is not seen before it was opened, and takes some time to be ready for them."""
    app.pointer(app.find('label', 'Learning Rate Schedule', within=form))
    time.sleep(1)
    app.key('Down', 'Down', 'Return')
    time.sleep(1)
    wait(lambda: is_ready(app), 'form that can be trained')


@case
def a_schedule_is_chosen(desk):
    app = desk.start()
    app.press('Straight Line')
    app.press('New Run')
    form = app.window('New Run')
    app.set_text('Name', 'cosine', within=form)
    wait(lambda: is_ready(app), 'form that can be trained')
    choose_cosine(app, form)
    app.set_text('Learning Rate', '0.02', within=form)
    app.press('Train', within=form)
    app.log.wait_status('cosine', 'finished')
    rates = [row[0] for row in app.log.query("SELECT value FROM scalar JOIN series ON series.id = series "
                                             "WHERE name = 'learning_rate' ORDER BY step")]
    assert abs(rates[0] - 0.02) < 1e-6, rates[0]
    assert all(a > b for a, b in zip(rates, rates[1:])), rates[:6]
    # It is over when the run is.
    assert rates[-1] < 1e-5, rates[-1]


@case
def a_rate_set_by_hand_is_given_back_to_the_schedule(desk):
    app = desk.start()
    app.press('Straight Line')
    app.press('New Run')
    form = app.window('New Run')
    app.set_text('Name', 'steered', within=form)
    app.set_text('Epochs', str(ENDLESS), within=form)
    wait(lambda: is_ready(app), 'form that can be trained')
    choose_cosine(app, form)
    wait(lambda: is_ready(app), 'form that can be trained')
    app.press('Train', within=form)
    app.log.wait_step('steered', 100)
    # The log knows of a step before the window does.
    app.wait_said('Loss', 'run steered')
    assert app.peek('push button', 'Follow the Schedule') is None
    slider = app.find('slider', 'Learning rate, logarithmic')
    value = slider.queryValue()
    value.currentValue = value.currentValue - 1
    app.press('Follow the Schedule')
    wait(lambda: app.peek('push button', 'Follow the Schedule') is None, 'schedule that is followed')
    said = [row[0] for row in app.log.query("SELECT data FROM event WHERE kind = 'intervention' "
                                            "AND subject = 'learning_rate' ORDER BY id")]
    assert len(said) == 2 and said[1].endswith('"to": null}'), said
    app.press('Stop')
    app.log.wait_status('steered', 'stopped')


main()
