#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""test-window.py GRADUS EXAMPLES: the real application, from Train to finding the run again.

Runs under tests/headless.sh; speaks TAP."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from uibot import App, wait_for

gradus, examples = sys.argv[1:3]
folder = tempfile.mkdtemp(prefix='gradus-ui-')
workspace = os.path.join(folder, 'workspace')
count = 0


def ok(what):
    global count
    count += 1
    print('ok %d - %s' % (count, what), flush=True)


def start(*arguments):
    process = subprocess.Popen([gradus, '--workspace', workspace, *arguments])
    return process, App('gradus', process.pid)


def end(process):
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0, 'it ended with %d' % process.returncode


def slow_line():
    """The line example, long enough to be paused by hand."""
    with open(os.path.join(examples, 'line.json')) as file:
        recipe = json.load(file)
    recipe['model'] = os.path.join(examples, recipe['model'])
    recipe['data']['pipeline'] = [{'batch': 1}]
    recipe['fit']['epochs'] = 5000
    recipe['log'] = {'histograms_every': 5000}
    recipe['checkpoints'] = {'every': 100000, 'keep': 1}
    path = os.path.join(folder, 'line.json')
    with open(path, 'w') as file:
        json.dump(recipe, file)
    return path


def loss(app):
    return app.description('image', 'Loss')


try:
    process, app = start(slow_line())
    app.find('label', '2 parameters', contains=True, timeout=30)
    ok('the recipe is open and looked at')

    app.press('push button', 'Train')
    first = wait_for(lambda: 'train' in loss(app) and loss(app), 'a spoken loss', 30)
    wait_for(lambda: loss(app) != first, 'another loss')
    ok('the chart says a loss, and says another later: ' + first)

    app.press('push button', 'Pause')
    app.find('push button', 'Resume', timeout=20)
    time.sleep(1.5)
    paused = loss(app)
    time.sleep(1.5)
    assert loss(app) == paused, 'a paused run went on'
    ok('pause holds it')

    app.action('win.step')
    wait_for(lambda: loss(app) != paused, 'the loss of one step')
    assert app.has('push button', 'Resume'), 'a step did not pause again'
    ok('step does one step')

    app.press('push button', 'Resume')
    app.find('push button', 'Pause', timeout=20)
    ok('resume goes on')

    app.action('win.stop')
    app.find('push button', 'Train Again', contains=True, timeout=30)
    time.sleep(2)
    last = loss(app)
    end(process)
    ok('stop keeps it: ' + last)

    process, app = start()
    app.find('label', 'line', timeout=30)
    wait_for(lambda: loss(app) == last, 'the same curve after reopening', 30)
    ok('the run is there again, with the same curve')
    end(process)
    ok('it ends cleanly')
except Exception as error:
    print('not ok %d - %s' % (count + 1, error), flush=True)
    try:
        process.kill()
    except Exception:
        pass
    sys.exit(1)

print('1..%d' % count)
