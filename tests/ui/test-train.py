# SPDX-License-Identifier: Apache-2.0
"""From the welcome page to a run that is found again, through accessibility alone."""
import os

from gradus_ui import case, main
from uibot import wait


@case
def the_line_is_learnt(desk):
    app = desk.start()
    assert 'no values yet' in app.said('Loss')
    app.press('Straight Line')
    app.press('Train')
    app.log.wait_status('line', 'finished')
    app.wait_said('Loss', r'run line train 0\.\d+, validation 0\.0\d+, best 0\.0\d+ at step \d+')
    app.find_text('560')
    said = app.wait_settled('Loss')
    app.close()

    app = desk.start()
    app.wait_said('Loss', 'run line')
    assert app.wait_settled('Loss', 0.5) == said


@case
def a_run_is_steered_and_found_again(desk):
    app = desk.start()
    log = app.log
    app.train_endless()

    heard = set()
    wait(lambda: heard.add(app.said('Loss')) or len(heard) >= 3, 'third summary of a moving chart')
    wait(lambda: 'no values' not in app.said('Learning rate'), 'learning rate')

    app.press('Pause')
    log.wait_status('line', 'paused')
    said = app.wait_settled('Loss')
    paused_at = log.step('line')
    assert app.wait_settled('Loss') == said
    assert log.step('line') == paused_at

    app.step_once()
    log.wait_step('line', paused_at + 1)
    wait(lambda: app.said('Loss') != said, 'summary of the step')
    assert log.step('line') == paused_at + 1
    assert log.status('line') == 'paused'

    app.press('Resume')
    log.wait_status('line', 'running')
    log.wait_step('line', paused_at + 2)
    paused = app.wait_settled('Loss', 0)
    wait(lambda: app.said('Loss') != paused, 'moving chart after resuming')

    app.press('Stop')
    log.wait_status('line', 'stopped')
    said = app.wait_settled('Loss')
    last = log.step('line')
    assert log.checkpoints('line')[-1][0] == last
    for _, path in log.checkpoints('line'):
        assert os.path.exists(os.path.join(app.workspace, path)), path
    curves = log.curves('line')
    app.close()

    app = desk.start()
    app.wait_said('Loss', 'run line')
    assert app.wait_settled('Loss') == said
    assert log.curves('line') == curves
    app.press('Resume')
    log.wait_status('line', 'running')
    log.wait_step('line', last + 1)
    app.press('Stop')
    log.wait_status('line', 'stopped')
    again = [row for row in log.curves('line') if row[1] <= last]
    assert again == curves, 'resuming changed what was there'


@case
def keys_do_it_all(desk):
    app = desk.start()
    log = app.log
    app.open_endless()
    wait(lambda: len(app.windows()) == 1, 'closed form')
    app.key('ctrl+Return')
    log.wait_status('line', 'running')
    log.wait_step('line', 10)
    app.key('ctrl+p')
    log.wait_status('line', 'paused')
    step = log.step('line')
    app.key('ctrl+period')
    log.wait_step('line', step + 1)
    app.key('ctrl+s')
    wait(lambda: log.checkpoints('line')[-1][0] == step + 1, 'checkpoint of the step')
    app.key('ctrl+p')
    log.wait_status('line', 'running')
    app.key('ctrl+shift+s')
    log.wait_status('line', 'stopped')

    for combination, node in (('alt+1', ('tree table', 'Layers of the model')),
                              ('alt+2', ('tree table', 'Parts of the data')),
                              ('alt+4', ('tree table', 'Runs')),
                              ('alt+3', ('image', 'Loss'))):
        app.key(combination)
        wait(lambda: app.is_mapped(app.find(*node)), 'page of ' + combination)
    app.key('ctrl+n')
    wait(lambda: 'New Run' in app.windows(), 'form')
    app.key('Escape')
    wait(lambda: 'New Run' not in app.windows(), 'closed form')
    app.key('ctrl+question')
    wait(lambda: len(app.windows()) == 2, 'window of the shortcuts')
    app.key('Escape')
    wait(lambda: len(app.windows()) == 1, 'closed shortcuts')
    app.key('ctrl+comma')
    wait(lambda: len(app.windows()) == 2, 'preferences')
    app.key('Escape')
    wait(lambda: len(app.windows()) == 1, 'closed preferences')
    app.key('ctrl+w')
    app.wait_exit()


@case
def the_cursor_is_spoken(desk):
    desk.fill(1, 400)
    app = desk.start()
    app.wait_said('Loss', 'run cnn-1')
    summary = app.wait_settled('Loss')
    app.pointer(app.chart('Loss'))
    app.key('Home', 'Right')
    first = wait(lambda: app.said('Loss') != summary and app.said('Loss'), 'spoken cursor')
    app.key('Right', 'Right')
    wait(lambda: app.said('Loss') != first, 'moved cursor')
    assert 'train' in app.said('Loss'), app.said('Loss')
    app.key('Escape')
    wait(lambda: app.said('Loss') == summary, 'summary again')


main()
