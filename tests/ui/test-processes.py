# SPDX-License-Identifier: Apache-2.0
"""Runs of other processes, runs that wait, and a second start."""
import os
import subprocess

from gradus_ui import ENDLESS, GRADUS, case, main, write_recipe
from uibot import wait


@case
def a_run_of_another_process_is_steered(desk):
    desk.fill(1, 100)
    app = desk.start()
    log = app.log
    app.wait_said('Loss', 'run cnn-1')

    recipe = write_recipe(desk.folder, 'elsewhere', **{'fit.epochs': ENDLESS})
    cli = desk.cli('train', recipe, '--workspace', desk.workspace, '--quiet')
    app.find('label', 'elsewhere', timeout=20)
    app.press('elsewhere,', contains=True)
    app.wait_said('Loss', 'run elsewhere')
    heard = set()
    wait(lambda: heard.add(app.said('Loss')) or len(heard) >= 3, 'third summary of a moving chart')

    app.press('Pause')
    log.wait_status('elsewhere', 'paused')
    said = app.wait_settled('Loss')
    step = log.step('elsewhere')
    app.step_once()
    log.wait_step('elsewhere', step + 1)
    wait(lambda: app.said('Loss') != said, 'summary of the step')
    assert log.step('elsewhere') == step + 1
    app.press('Resume')
    log.wait_status('elsewhere', 'running')
    app.press('Stop')
    log.wait_status('elsewhere', 'stopped')
    assert cli.wait(20) in (0, 1), 'the other process ended with %d' % cli.returncode
    assert log.checkpoints('elsewhere')[-1][0] == log.step('elsewhere')
    app.find('label', 'stopped')


@case
def a_killed_process_is_told_from_a_live_one(desk):
    app = desk.start()
    recipe = write_recipe(desk.folder, 'elsewhere', **{'fit.epochs': ENDLESS})
    cli = desk.cli('train', recipe, '--workspace', desk.workspace, '--quiet')
    app.find('label', 'elsewhere', timeout=20)
    app.log.wait_step('elsewhere', 100)
    cli.kill()
    cli.wait()
    app.find('label', 'interrupted', timeout=20)


@case
def a_second_run_waits_for_the_first(desk):
    app = desk.start()
    log = app.log
    app.train_endless('first')
    app.press('New Run')
    app.set_text('Name', 'second')
    app.press('Train', within=app.window('New Run'))
    app.dialog('first Is Being Trained')
    app.answer('Queue')
    log.wait_status('second', 'queued')
    assert log.status('first') == 'running'
    app.find('label', 'queued')

    log.command('first', 'stop')
    log.wait_status('first', 'stopped')
    log.wait_status('second', 'running', 'finished')
    app.press('second,', contains=True)
    wait(lambda: 'run second' in app.said('Loss'), 'chart of the second run')
    app.log.command('second', 'stop')
    log.wait_status('second', 'stopped', 'finished')


@case
def a_second_start_raises_the_first(desk):
    app = desk.start()
    assert len(app.windows()) == 1
    second = subprocess.run([GRADUS, '--workspace', desk.workspace], timeout=20)
    assert second.returncode == 0
    assert app.process.poll() is None
    assert len(app.windows()) == 1

    recipe = write_recipe(desk.folder, 'handed-over')
    assert subprocess.run([GRADUS, recipe], timeout=20).returncode == 0
    app.find('label', 'handed-over')
    assert os.path.exists('/proc/%d' % app.pid)


main()
