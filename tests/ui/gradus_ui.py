# SPDX-License-Identifier: Apache-2.0
"""What the tests of the window share: a workspace of one's own, the real application in it, the run
log as others read it, and TAP."""
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback

from uibot import App, wait

GRADUS = os.environ['GRADUS']
GRADUS_CLI = os.environ['GRADUS_CLI']
FILL_LOG = os.environ['GRADUS_FILL_LOG']
EXAMPLES = os.environ['GRADUS_EXAMPLES']
OUTPUT = os.environ['GRADUS_UI_OUTPUT']

# Runs until it is stopped, whatever the machine.
ENDLESS = 900000

# Said by GTK of the test's own surroundings.
HARMLESS = re.compile(r'portal|Unable to acquire session bus|dconf|settings.ini|A11y|AT-SPI|'
                      r'No such interface|unable to send notifications')


class Log:
    """The run log of a workspace, read as any other process may."""

    def __init__(self, workspace):
        self.path = os.path.join(workspace, 'runs.sqlite')

    def query(self, sql, *values):
        try:
            with contextlib.closing(sqlite3.connect('file:%s?mode=ro' % self.path, uri=True,
                                                    timeout=5)) as database:
                return database.execute(sql, values).fetchall()
        except sqlite3.OperationalError:
            return []

    def names(self):
        return [row[0] for row in self.query('SELECT name FROM run ORDER BY id')]

    def status(self, name):
        rows = self.query('SELECT status FROM run WHERE name = ? ORDER BY id DESC', name)
        return rows[0][0] if rows else None

    def step(self, name):
        rows = self.query('SELECT MAX(step) FROM scalar JOIN series ON series.id = scalar.series '
                          'JOIN run ON run.id = series.run '
                          "WHERE series.name = 'train/loss' AND run.name = ?", name)
        return rows[0][0] or 0 if rows else 0

    def curves(self, name):
        """Every scalar of a run."""
        return self.query('SELECT series.name, step, time, value FROM scalar '
                          'JOIN series ON series.id = scalar.series JOIN run ON run.id = series.run '
                          'WHERE run.name = ? ORDER BY series.name, step', name)

    def checkpoints(self, name):
        return self.query('SELECT step, path FROM checkpoint JOIN run ON run.id = checkpoint.run '
                          'WHERE run.name = ? ORDER BY step', name)

    def command(self, name, command):
        """Posts a command as another process would."""
        with contextlib.closing(sqlite3.connect(self.path, timeout=5)) as database, database:
            database.execute('INSERT INTO command (run, created, command) '
                             "SELECT id, CAST(strftime('%s') AS INTEGER) * 1000, ? FROM run "
                             'WHERE name = ?', (json.dumps({'command': command}), name))

    def wait_status(self, name, *statuses, timeout=20):
        return wait(lambda: self.status(name) in statuses and self.status(name),
                    'run %r that is %s (it is %s)' % (name, ' or '.join(statuses),
                                                     self.status(name)), timeout)

    def wait_step(self, name, step, timeout=20):
        return wait(lambda: self.step(name) >= step and self.step(name),
                    'step %d of %r' % (step, name), timeout)


class Gradus(App):
    """The application at work in a workspace."""

    def __init__(self, workspace, *arguments, environment=None, wrapper=None, timeout=20):
        self.workspace = workspace
        self.log = Log(workspace)
        self.errors = tempfile.TemporaryFile('w+')
        variables = {**os.environ, 'G_DEBUG': 'fatal-criticals', **(environment or {})}
        # A wrapper is given the arguments, and becomes the application.
        self.process = subprocess.Popen([*(wrapper or [GRADUS]), '--workspace', workspace,
                                         *arguments], env=variables, stderr=self.errors)
        try:
            super().__init__('gradus', self.process.pid, timeout)
        except TimeoutError:
            raise AssertionError('the application did not come up:\n' + self.stderr())

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read()

    def complaints(self):
        return [line for line in self.stderr().splitlines()
                if re.search(r'WARNING|CRITICAL|ERROR', line) and not HARMLESS.search(line)]

    def wait_exit(self, timeout=20):
        """Waits for an orderly end."""
        code = self.process.wait(timeout)
        assert code == 0, 'the application ended with %d:\n%s' % (code, self.stderr())
        assert not self.complaints(), '\n'.join(self.complaints())

    def close(self, timeout=20):
        self.action('window.close')
        self.wait_exit(timeout)

    def end(self):
        """Ends it whatever it does, and wants no complaint."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.wait_exit()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.errors.close()

    # ---- What the window is made of ----

    def chart(self, title):
        return self.find('image', title)

    def said(self, title):
        """What a screen reader says of a chart."""
        return self.chart(title).description

    def wait_said(self, title, pattern, timeout=10):
        return wait(lambda: re.search(pattern, self.said(title)),
                    'chart %r that says %r (it says %r)' % (title, pattern, self.said(title)),
                    timeout)

    def wait_settled(self, title, seconds=1.5, timeout=15):
        """Waits until a summary has stood still so long; it is renewed once a second at most."""
        end = time.monotonic() + timeout
        last, since = self.said(title), time.monotonic()
        while time.monotonic() - since < seconds:
            assert time.monotonic() < end, 'chart %r does not come to rest' % title
            time.sleep(0.1)
            now = self.said(title)
            if now != last:
                last, since = now, time.monotonic()
        return last

    def step_once(self):
        """The axis of the charts has a Step of its own."""
        self.press('Step', within=self.find('filler', 'GradusTrainPanel'))

    def dialog(self, heading, timeout=8):
        """Waits for a message dialog; its labels hold heading and body."""
        return wait(lambda: self.peek('label', heading, within=self.top()),
                    'dialog %r' % heading, timeout)

    def answer(self, response):
        """Presses a button of the message dialog on top."""
        self.press(response, within=self.top())

    def open_endless(self, name='line'):
        """Opens the line example from the welcome page and makes it as long as wanted."""
        self.press('Straight Line')
        self.press('Options…')
        self.set_text('Epochs', str(ENDLESS))
        if name != 'line':
            self.set_text('Name', name)
        self.press('Keep for Later', contains=True)

    def train_endless(self, name='line'):
        self.open_endless(name)
        self.press('Train')
        self.log.wait_status(name, 'running')
        self.log.wait_step(name, 1)


def write_recipe(folder, name, **changes):
    """A recipe of a line that another process trains, with dotted paths changed."""
    with open(os.path.join(EXAMPLES, 'line.json'), encoding='utf-8') as file:
        recipe = json.load(file)
    recipe['name'] = name
    recipe['model'] = os.path.join(EXAMPLES, recipe['model'])
    for path, value in changes.items():
        *parents, last = path.split('.')
        place = recipe
        for parent in parents:
            place = place[parent]
        place[last] = value
    path = os.path.join(folder, name + '.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(recipe, file)
    return path


cases = []


def case(function):
    """Registers a test: it gets a Desk to start the application at."""
    cases.append(function)
    return function


class Desk:
    """One test's workspace and processes; all gone at its end."""

    def __init__(self, name):
        self.name = name
        self.folder = tempfile.mkdtemp(prefix='gradus-ui-')
        self.workspace = os.path.join(self.folder, 'workspace')
        self.apps = []
        self.others = []

    def start(self, *arguments, **options):
        app = Gradus(options.pop('workspace', self.workspace), *arguments, **options)
        self.apps.append(app)
        return app

    def cli(self, *arguments, **options):
        process = subprocess.Popen([GRADUS_CLI, *arguments], stdout=subprocess.DEVNULL, **options)
        self.others.append(process)
        return process

    def fill(self, runs, steps, *options):
        subprocess.check_call([FILL_LOG, *options, self.workspace, str(runs), str(steps),
                               os.path.join(EXAMPLES, 'fashion-cnn.json')])

    def report(self):
        os.makedirs(OUTPUT, exist_ok=True)
        base = os.path.join(OUTPUT, 'failed-' + self.name)
        with contextlib.suppress(Exception):
            subprocess.run(['import', '-window', 'root', base + '.png'], timeout=10)
        for app in self.apps:
            with contextlib.suppress(Exception):
                with open(base + '.txt', 'w', encoding='utf-8') as file:
                    file.write(app.stderr() + '\n' + app.tree())

    def clear(self):
        for app in self.apps:
            app.kill()
        for process in self.others:
            if process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    chosen = [c for c in cases if len(sys.argv) < 2 or c.__name__ in sys.argv[1:]]
    failed = 0
    print('1..%d' % len(chosen), flush=True)
    for number, function in enumerate(chosen, 1):
        name = function.__name__.replace('_', '-')
        desk = Desk(name)
        start = time.monotonic()
        try:
            function(desk)
            for app in desk.apps:
                app.end()
            print('ok %d %s # %.1f s' % (number, name, time.monotonic() - start), flush=True)
        except Exception:
            failed += 1
            desk.report()
            print('not ok %d %s' % (number, name))
            for line in traceback.format_exc().splitlines():
                print('# ' + line)
            sys.stdout.flush()
        finally:
            desk.clear()
    sys.exit(failed > 0)
