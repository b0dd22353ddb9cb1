# SPDX-License-Identifier: Apache-2.0
"""Closing the window while a run is on asks, and does what was answered."""
import os
import subprocess
import threading

from gi.repository import Gio, GLib

from gradus_ui import GRADUS, case, main
from uibot import wait

HEADING = 'Keep Training in the Background?'

NOTIFICATIONS = '''
<node>
  <interface name="org.freedesktop.Notifications">
    <method name="Notify">
      <arg direction="in" type="s"/><arg direction="in" type="u"/><arg direction="in" type="s"/>
      <arg direction="in" type="s"/><arg direction="in" type="s"/><arg direction="in" type="as"/>
      <arg direction="in" type="a{sv}"/><arg direction="in" type="i"/>
      <arg direction="out" type="u"/>
    </method>
    <method name="CloseNotification"><arg direction="in" type="u"/></method>
    <method name="GetCapabilities"><arg direction="out" type="as"/></method>
    <method name="GetServerInformation">
      <arg direction="out" type="s"/><arg direction="out" type="s"/>
      <arg direction="out" type="s"/><arg direction="out" type="s"/>
    </method>
  </interface>
</node>'''

notifications = []


def answer(connection, sender, path, interface, method, parameters, invocation):
    if method == 'Notify':
        notifications.append((parameters[3], parameters[4]))
        invocation.return_value(GLib.Variant('(u)', (len(notifications),)))
    elif method == 'GetCapabilities':
        invocation.return_value(GLib.Variant('(as)', (['body', 'actions'],)))
    elif method == 'GetServerInformation':
        invocation.return_value(GLib.Variant('(ssss)', ('test', 'test', '1', '1.2')))
    else:
        invocation.return_value(None)


def serve_notifications():
    """Stands where a desktop would show notifications."""
    context = GLib.MainContext()
    context.push_thread_default()
    address = Gio.dbus_address_get_for_bus_sync(Gio.BusType.SESSION)
    connection = Gio.DBusConnection.new_for_address_sync(
        address, Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT |
        Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION, None, None)
    interface = Gio.DBusNodeInfo.new_for_xml(NOTIFICATIONS).interfaces[0]
    connection.register_object('/org/freedesktop/Notifications', interface, answer, None, None)
    Gio.bus_own_name_on_connection(connection, 'org.freedesktop.Notifications', 0, None, None)
    GLib.MainLoop(context).run()


@case
def closing_an_idle_window_asks_nothing(desk):
    app = desk.start()
    app.press('Straight Line')
    app.press('Train')
    app.log.wait_status('line', 'finished')
    app.close()


@case
def cancel_goes_on(desk):
    app = desk.start()
    app.train_endless()
    app.action('window.close')
    app.dialog(HEADING)
    app.answer('Cancel')
    wait(lambda: len(app.windows()) == 1, 'closed dialog')
    step = app.log.step('line')
    app.log.wait_step('line', step + 1)
    assert app.log.status('line') == 'running'
    assert app.process.poll() is None
    app.key('ctrl+q')
    app.dialog(HEADING)
    app.key('Escape')
    wait(lambda: len(app.windows()) == 1, 'closed dialog')
    app.press('Stop')
    app.log.wait_status('line', 'stopped')


@case
def stop_and_keep_writes_a_checkpoint(desk):
    app = desk.start()
    app.train_endless()
    app.action('window.close')
    app.dialog(HEADING)
    app.answer('Stop and Keep')
    app.wait_exit()
    assert app.log.status('line') == 'stopped'
    step, path = app.log.checkpoints('line')[-1]
    assert step == app.log.step('line')
    assert os.path.exists(os.path.join(desk.workspace, path))


@case
def training_goes_on_in_the_background(desk):
    app = desk.start()
    app.train_endless()
    app.action('window.close')
    app.dialog(HEADING)
    app.answer('Keep Training')
    wait(lambda: not app.windows(), 'closed window')
    step = app.log.step('line')
    app.log.wait_step('line', step + 1)

    # Another start brings the window of the same process back.
    assert subprocess.run([GRADUS], timeout=20).returncode == 0
    wait(app.windows, 'window again')
    app.wait_said('Loss', 'run line')
    app.action('window.close')
    app.dialog(HEADING)
    app.answer('Keep Training')
    wait(lambda: not app.windows(), 'closed window')

    del notifications[:]
    app.log.command('line', 'stop')
    app.log.wait_status('line', 'stopped')
    wait(lambda: notifications, 'notification')
    assert 'line' in notifications[0][0], notifications
    app.wait_exit()


@case
def the_end_of_the_session_stops_and_keeps(desk):
    app = desk.start()
    app.train_endless()
    app.end()
    assert app.log.status('line') == 'stopped'
    assert app.log.checkpoints('line')[-1][0] == app.log.step('line')


threading.Thread(target=serve_notifications, daemon=True).start()
main()
