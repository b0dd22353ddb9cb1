# SPDX-License-Identifier: Apache-2.0
"""Drives a GTK 4.8 application over AT-SPI, with xdotool where AT-SPI has no action.

Needs /usr/bin/python3 with pyatspi, a session bus and an X server (tests/headless.sh)."""
import subprocess
import time

import pyatspi


def wait(condition, what, timeout=10, interval=0.05):
    """Waits until condition() is true and returns what it gave; says what was missing."""
    end = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise TimeoutError('after %g s there was still no %s' % (timeout, what))
        time.sleep(interval)


def walk(node):
    """Every accessible below node, parents first; those that vanish meanwhile are passed over."""
    try:
        children = [node.getChildAtIndex(i) for i in range(node.childCount)]
    except Exception:
        return
    for child in children:
        if child is not None:
            yield child
            yield from walk(child)


def is_named(node, name, contains=False):
    """GTK says the text of a mnemonic button beside its accessible name."""
    own = node.name
    if contains:
        return name in own
    return own in (name, '_' + name, '%s %s' % (name, name), '_%s %s' % (name, name))


class App:
    def __init__(self, name, pid, timeout=15):
        self.name = name
        self.pid = pid
        self.root = wait(self._lookup, 'application %r on the accessibility bus' % name, timeout)

    def _lookup(self):
        for app in pyatspi.Registry.getDesktop(0):
            try:
                if app is not None and app.get_process_id() == self.pid and app.childCount > 0:
                    return app
            except Exception:
                continue
        return None

    # ---- Looking ----

    def windows(self):
        """Names of the toplevel windows; none when the application has ended."""
        try:
            return [w.name for w in self.root if w is not None]
        except Exception:
            return []

    def top(self, timeout=8):
        """The dialog that stands before the main window."""
        return wait(lambda: self.root.childCount > 1 and
                    self.root.getChildAtIndex(self.root.childCount - 1), 'dialog', timeout)

    def window(self, name, timeout=8):
        """The toplevel of that name."""
        return wait(lambda: next((w for w in self.root if w is not None and w.name == name), None),
                    'window %r' % name, timeout)

    def search(self, role, name=None, contains=False, within=None):
        for node in walk(within if within is not None else self.root):
            try:
                if node.getRoleName() != role:
                    continue
                if name is None or is_named(node, name, contains):
                    yield node
            except Exception:
                continue

    def peek(self, role, name=None, **options):
        return next(self.search(role, name, **options), None)

    def find(self, role, name=None, timeout=8, **options):
        return wait(lambda: self.peek(role, name, **options), '%s named %r' % (role, name), timeout)

    def find_text(self, text, timeout=8):
        """A label that holds text."""
        return self.find('label', text, timeout=timeout, contains=True)

    @staticmethod
    def states(node):
        return [pyatspi.stateToString(s) for s in node.getState().getStates()]

    def is_sensitive(self, node):
        return 'sensitive' in self.states(node)

    @staticmethod
    def extents(node):
        return node.queryComponent().getExtents(pyatspi.WINDOW_COORDS)

    def is_mapped(self, node):
        """Pages of a stack that were never shown have no size."""
        return self.extents(node).width > 0

    def text(self, node):
        text = node.queryText()
        return text.getText(0, text.characterCount)

    def tree(self):
        """The tree as text, for the report of a failure."""
        lines = []

        def add(node, depth):
            try:
                lines.append('%s%s %r %r' % ('  ' * depth, node.getRoleName(), node.name,
                                             node.description))
                children = [node.getChildAtIndex(i) for i in range(node.childCount)]
            except Exception:
                return
            for child in children:
                if child is not None:
                    add(child, depth + 1)

        add(self.root, 0)
        return '\n'.join(lines)

    # ---- Doing ----

    def press(self, name, role='push button', timeout=8, **options):
        """Presses a button as soon as it is there and sensitive."""
        def ready():
            for node in self.search(role, name, **options):
                # What was never on the screen cannot be pressed, and says nothing of it.
                if self.is_sensitive(node) and self.is_mapped(node):
                    return node
            return None
        node = wait(ready, 'sensitive %s named %r on the screen' % (role, name), timeout)
        assert node.queryAction().doAction(0), 'pressing %r did nothing' % name

    def set_text(self, name, text, role='text', **options):
        assert self.find(role, name, **options).queryEditableText().setTextContents(text)

    def select(self, list_name, index, role='list'):
        """Selects a row of a list or table."""
        rows = self.find(role, list_name)
        wait(lambda: rows.childCount > index, 'row %d of %r' % (index, list_name))
        assert rows.querySelection().selectChild(index)

    def action(self, name):
        """An action without parameter of the toplevel, such as 'win.new-run'."""
        # Only enabled ones are counted, so that the numbers move while something is on its way.
        def listed():
            try:
                action = self.root.getChildAtIndex(0).queryAction()
                names = [action.getName(i) for i in range(action.nActions)]
                again = [action.getName(i) for i in range(action.nActions)]
                return name in names and names == again and (action, names.index(name))
            except Exception:
                return None
        action, index = wait(listed, 'action %s' % name)
        assert action.doAction(index), '%s did nothing' % name

    # ---- Real events ----

    def x_windows(self):
        """Ids of the windows on the screen, the topmost last."""
        result = subprocess.run(['xdotool', 'search', '--onlyvisible', '--class', self.name],
                                capture_output=True, text=True)
        return result.stdout.split()

    def geometry(self, window):
        output = subprocess.check_output(['xdotool', 'getwindowgeometry', '--shell', window],
                                         text=True)
        values = dict(line.split('=') for line in output.split())
        return tuple(int(values[key]) for key in ('X', 'Y', 'WIDTH', 'HEIGHT'))

    def resize(self, width, height):
        """Makes the main window so large, its shadow not counted."""
        window = wait(self.x_windows, 'window on the screen')[0]
        frame = self.root.getChildAtIndex(0)
        _, _, outer_width, outer_height = self.geometry(window)
        inner = self.extents(frame)
        subprocess.check_call(['xdotool', 'windowsize', window,
                               str(width + outer_width - inner.width),
                               str(height + outer_height - inner.height)])
        wait(lambda: (self.extents(frame).width, self.extents(frame).height) == (width, height),
             'window of %d x %d' % (width, height))

    def pointer(self, node, button=1, at=(0.5, 0.5)):
        """Clicks into node of the main window with the real pointer."""
        window = self.x_windows()[0]
        _, _, width, height = self.geometry(window)
        frame = self.extents(self.root.getChildAtIndex(0))
        extents = self.extents(node)
        # Coordinates leave out the shadow around the window.
        x = extents.x + int(extents.width * at[0]) + (width - frame.width) // 2
        y = extents.y + int(extents.height * at[1]) + (height - frame.height) // 2
        subprocess.check_call(['xdotool', 'mousemove', '--window', window, str(x), str(y),
                               'click', str(button)])

    def key(self, *combinations):
        """Keys for the topmost window; without a window manager focus has to be given."""
        subprocess.check_call(['xdotool', 'windowfocus', '--sync', self.x_windows()[-1]])
        subprocess.check_call(['xdotool', 'key', '--delay', '30', *combinations])

    def shot(self, path, window=None):
        subprocess.check_call(['import', '-window', window if window is not None else 'root', path])
