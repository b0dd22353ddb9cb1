# SPDX-License-Identifier: Apache-2.0
"""Drives a GTK application over AT-SPI, with xdotool where AT-SPI has no action. /usr/bin/python3."""
import subprocess
import time

import pyatspi


def wait_for(test, what, timeout=20):
    """Returns test() as soon as it is true."""
    end = time.time() + timeout
    while True:
        try:
            result = test()
        except Exception:
            result = None
        if result:
            return result
        if time.time() > end:
            raise TimeoutError('%s did not come about in %d s' % (what, timeout))
        time.sleep(.05)


class App:
    def __init__(self, name, pid, timeout=30):
        def look():
            return next((a for a in pyatspi.Registry.getDesktop(0)
                         if a and a.name == name and a.childCount and a.get_process_id() == pid), None)
        self.name = name
        self.root = wait_for(look, 'application %r on the bus' % name, timeout)

    def find(self, role, name, timeout=10, contains=False):
        def ok(x):
            try:
                return (x.getRoleName() == role and x.getState().contains(pyatspi.STATE_VISIBLE)
                        and (name in x.name if contains else x.name == name))
            except Exception:
                return False
        return wait_for(lambda: pyatspi.findDescendant(self.root, ok), 'a %s named %r' % (role, name), timeout)

    def has(self, role, name):
        try:
            return self.find(role, name, timeout=0) is not None
        except TimeoutError:
            return False

    def press(self, role, name, **k):
        x = self.find(role, name, **k)
        wait_for(lambda: x.getState().contains(pyatspi.STATE_SENSITIVE), '%s %r sensitive' % (role, name))
        assert x.queryAction().doAction(0)

    def description(self, role, name):
        return self.find(role, name).description

    def action(self, name):
        """Any action of the window, such as win.train."""
        frame = self.root.getChildAtIndex(0)
        action = frame.queryAction()
        names = [action.getName(i) for i in range(action.nActions)]
        assert action.doAction(names.index(name))

    def window(self):
        return wait_for(lambda: subprocess.run(['xdotool', 'search', '--onlyvisible', '--class', self.name],
                                               capture_output=True, text=True).stdout.split(), 'a window')[0]

    def resize(self, width, height):
        subprocess.check_call(['xdotool', 'windowsize', self.window(), str(width), str(height)])
        time.sleep(.7)

    def key(self, combo):
        subprocess.check_call(['xdotool', 'windowfocus', self.window()])
        subprocess.check_call(['xdotool', 'key', combo])

    def shot(self, path, width, height):
        subprocess.check_call(['import', '-window', 'root', '-crop', '%dx%d+0+0' % (width, height), '+repage', path])
