# SPDX-License-Identifier: Apache-2.0
"""Options that change while a run is on: what is taken, and what is refused."""
import contextlib
import json
import sqlite3

from gradus_ui import case, main
from uibot import wait


def post(log, run, **command):
    """A command of another process."""
    with contextlib.closing(sqlite3.connect(log.path, timeout=5)) as database, database:
        database.execute('INSERT INTO command (run, created, command) '
                         'SELECT id, 0, ? FROM run WHERE name = ?', (json.dumps(command), run))


@case
def live_options_are_taken(desk):
    app = desk.start()
    app.train_endless()
    clip = app.find('spin button', 'Gradient clip')
    assert app.text(clip) == 'off', app.text(clip)
    batch = app.find('spin button', 'Batch size')
    wait(lambda: batch.queryValue().currentValue == 32, 'batch size of the recipe')
    assert batch.queryValue().maximumValue == 32

    batch.queryValue().currentValue = 16
    wait(lambda: app.log.query("SELECT 1 FROM event WHERE subject = 'batch_size' "
                               "AND kind = 'intervention'"), 'change of the batch size')
    clip.queryValue().currentValue = 0.5
    wait(lambda: app.log.query("SELECT 1 FROM event WHERE subject = 'clip' "
                               "AND kind = 'intervention'"), 'change of the clip')
    app.press('Stop')
    app.log.wait_status('line', 'stopped')
    app.wait_settled('Loss')
    app.close()

    app = desk.start()
    wait(lambda: app.find('spin button', 'Batch size').queryValue().currentValue == 16,
         'batch size that was set')
    assert app.text(app.find('spin button', 'Gradient clip')) == '0.50'


@case
def refusals_are_told(desk):
    app = desk.start()
    app.train_endless()
    post(app.log, 'line', command='set', name='learning_rate', value=-1)
    app.find_text('learning_rate must be from 0')
    post(app.log, 'line', command='set', name='batch_size', value=4000)
    app.find_text('batch_size must be a whole number from 1 to 32')
    app.press('Stop')
    app.log.wait_status('line', 'stopped')


main()
