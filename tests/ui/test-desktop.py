# SPDX-License-Identifier: Apache-2.0
"""What the desktop brings in and keeps up: files that are dropped, sleep, preferences, names, the
order of the queue, disks that cannot be written."""
import json
import os
import shutil
import subprocess
import threading

from gi.repository import Gio, GLib

from gradus_ui import ENDLESS, EXAMPLES, case, main, write_recipe
from uibot import wait

SESSION = '''
<node>
  <interface name="org.gnome.SessionManager">
    <method name="RegisterClient">
      <arg direction="in" type="s"/><arg direction="in" type="s"/><arg direction="out" type="o"/>
    </method>
    <method name="UnregisterClient"><arg direction="in" type="o"/></method>
    <method name="Inhibit">
      <arg direction="in" type="s"/><arg direction="in" type="u"/><arg direction="in" type="s"/>
      <arg direction="in" type="u"/><arg direction="out" type="u"/>
    </method>
    <method name="Uninhibit"><arg direction="in" type="u"/></method>
  </interface>
</node>'''

SUSPEND = 4

inhibited = {}


def answer(connection, sender, path, interface, method, parameters, invocation):
    if method == 'RegisterClient':
        invocation.return_value(GLib.Variant('(o)', ('/org/gnome/SessionManager/Client1',)))
    elif method == 'Inhibit':
        cookie = len(inhibited) + 1
        inhibited[cookie] = (parameters[3], parameters[2])
        invocation.return_value(GLib.Variant('(u)', (cookie,)))
    elif method == 'Uninhibit':
        del inhibited[parameters[0]]
        invocation.return_value(None)
    else:
        invocation.return_value(None)


def serve_session(ready):
    """Stands where a desktop would keep the machine awake."""
    context = GLib.MainContext()
    context.push_thread_default()
    address = Gio.dbus_address_get_for_bus_sync(Gio.BusType.SESSION)
    connection = Gio.DBusConnection.new_for_address_sync(
        address, Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT |
        Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION, None, None)
    interface = Gio.DBusNodeInfo.new_for_xml(SESSION).interfaces[0]
    connection.register_object('/org/gnome/SessionManager', interface, answer, None, None)
    Gio.bus_own_name_on_connection(connection, 'org.gnome.SessionManager', 0,
                                   lambda *_: ready.set(), None)
    GLib.MainLoop(context).run()


@case
def a_training_machine_does_not_sleep(desk):
    app = desk.start()
    assert not inhibited
    app.train_endless()
    wait(lambda: inhibited, 'request to stay awake')
    flags, reason = next(iter(inhibited.values()))
    assert flags & SUSPEND and 'trained' in reason, (flags, reason)
    app.press('Stop')
    app.log.wait_status('line', 'stopped')
    wait(lambda: not inhibited, 'end of the request')


@case
def a_past_run_is_a_template(desk):
    app = desk.start()
    app.press('Straight Line')
    app.press('New Run')
    form = app.window('New Run')
    app.set_text('Name', 'first', within=form)
    app.set_text('Epochs', '3', within=form)
    app.set_text('Learning Rate', '0.02', within=form)
    app.press('Train', within=form)
    app.log.wait_status('first', 'finished')
    app.press('Train Again…')
    form = app.window('New Run')
    text = {name: app.text(app.find('text', name, within=form))
            for name in ('Name', 'Epochs', 'Learning Rate')}
    assert text['Epochs'] == '3' and text['Learning Rate'] == '0.02', text
    app.set_text('Name', 'second', within=form)
    app.set_text('Epochs', '2', within=form)
    app.press('Train', within=form)
    app.log.wait_status('second', 'finished')
    first, second = (json.loads(row[0]) for row in app.log.query('SELECT recipe FROM run '
                                                                  'ORDER BY id'))
    assert first['compile'] == second['compile']
    assert (first['fit']['epochs'], second['fit']['epochs']) == (3, 2)


@case
def a_run_gets_another_name(desk):
    desk.fill(2, 100)
    app = desk.start()
    app.wait_said('Loss', 'run ')
    name = app.log.names()[-1]
    app.action('win.rename')
    dialog = app.dialog('Rename Run') and app.top()
    entry = next(app.search('text', within=dialog))
    assert entry.queryEditableText().setTextContents('a better name')
    app.answer('Rename')
    wait(lambda: 'a better name' in app.log.names() and name not in app.log.names(), 'name in the log')
    app.find('label', 'a better name')


@case
def the_queue_is_put_in_order(desk):
    app = desk.start()
    log = app.log
    app.train_endless('first')
    for name in ('second', 'third'):
        app.press('New Run')
        form = app.window('New Run')
        app.set_text('Name', name, within=form)
        app.press('Train', within=form)
        app.dialog('first Is Being Trained')
        app.answer('Queue')
        log.wait_status(name, 'queued')
        wait(lambda: len(app.windows()) == 1, 'closed dialogs')
    app.select('Runs', 0)
    app.action('win.queue-up')
    log.command('first', 'stop')
    log.wait_status('first', 'stopped')
    log.wait_status('third', 'running')
    assert log.status('second') == 'queued'
    log.command('third', 'stop')
    log.wait_status('second', 'running')
    log.command('second', 'stop')
    log.wait_status('second', 'stopped')


@case
def preferences_take_effect(desk):
    app = desk.start()
    app.press('Straight Line')
    app.key('ctrl+comma')
    window = app.window('Preferences')
    threads = app.find('spin button', within=window)
    threads.queryValue().currentValue = 1
    app.key('Escape')
    wait(lambda: len(app.windows()) == 1, 'closed preferences')
    app.press('Train')
    app.log.wait_status('line', 'finished')
    recipe = json.loads(app.log.query('SELECT recipe FROM run')[0][0])
    assert '"threads": 1' in json.dumps(recipe), recipe


def is_mountable():
    return subprocess.run(['unshare', '-m', 'true'], stderr=subprocess.DEVNULL).returncode == 0


@case
def a_read_only_workspace_can_be_looked_at(desk):
    if not is_mountable():
        return
    desk.fill(2, 100)
    wrapper = os.path.join(desk.folder, 'read-only')
    with open(wrapper, 'w', encoding='utf-8') as file:
        file.write('#!/bin/sh\nmount --bind "$2" "$2" && mount -o remount,bind,ro "$2" && '
                   'exec "$GRADUS" "$@"\n')
    os.chmod(wrapper, 0o755)
    app = desk.start(wrapper=['unshare', '-m', wrapper])
    app.find_text('may not be written')
    app.wait_said('Loss', 'run ')
    app.press('Train Again…')
    form = app.window('New Run')
    app.press('Keep for Later', within=form)
    button = app.find('push button', 'Train', within=app.find('filler', 'GradusTrainPanel'))
    assert not app.is_sensitive(button)


@case
def data_that_is_gone_is_told(desk):
    inputs = os.path.join(desk.folder, 'x.gz')
    targets = os.path.join(desk.folder, 'y.gz')
    folder = '/usr/share/datasets/fashion-mnist'
    if not os.path.isdir(folder):
        return
    shutil.copy(os.path.join(folder, 't10k-images-idx3-ubyte.gz'), inputs)
    shutil.copy(os.path.join(folder, 't10k-labels-idx1-ubyte.gz'), targets)
    with open(os.path.join(EXAMPLES, 'fashion-dense.json'), encoding='utf-8') as file:
        recipe = json.load(file)
    recipe['name'] = 'gone'
    recipe['model'] = os.path.join(EXAMPLES, recipe['model'])
    recipe['data']['train'] = {'type': 'idx', 'inputs': inputs, 'targets': targets}
    recipe['data'].pop('test', None)
    recipe['fit']['epochs'] = 1
    path = os.path.join(desk.folder, 'gone.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(recipe, file)
    app = desk.start(path)
    app.press('Train')
    app.log.wait_status('gone', 'finished', timeout=60)
    os.remove(inputs)
    app.press('Train Again…')
    form = app.window('New Run')
    app.find('label', 'x.gz', contains=True, within=form)
    assert app.process.poll() is None


DROP = '''
import sys
import gi
gi.require_version('Gtk', '4.0')
from gi.repository import Gdk, Gio, Gtk

def activate(app):
    window = Gtk.ApplicationWindow(application=app, title='files', default_width=120,
                                   default_height=80)
    source = Gtk.DragSource()
    files = Gdk.FileList.new_from_array([Gio.File.new_for_path(sys.argv[1])])
    source.set_content(Gdk.ContentProvider.new_for_value(files))
    label = Gtk.Label(label='file')
    label.add_controller(source)
    window.set_child(label)
    window.present()

app = Gtk.Application(application_id='io.github.gradus.Test')
app.connect('activate', activate)
app.run([])
'''


@case
def a_recipe_is_dropped(desk):
    recipe = write_recipe(desk.folder, 'dropped', **{'fit.epochs': ENDLESS})
    app = desk.start()
    app.find('push button', 'Straight Line')
    process = subprocess.Popen(['/usr/bin/python3', '-c', DROP, recipe])
    desk.others.append(process)
    source = wait(lambda: subprocess.run(['xdotool', 'search', '--onlyvisible', '--name', 'files'],
                                         capture_output=True, text=True).stdout.split(),
                  'window to drag from')[0]
    main_window = app.x_windows()[0]
    subprocess.check_call(['xdotool', 'windowmove', '--sync', source, '600', '700'])

    def drag(*words):
        subprocess.check_call(['xdotool', *words])
        subprocess.check_call(['sleep', '0.15'])
    drag('windowraise', source)
    drag('mousemove', '--window', source, '70', '60')
    drag('mousedown', '1')
    for _ in range(4):
        drag('mousemove_relative', '--', '-12', '-12')
    drag('mousemove', '--window', main_window, '600', '300')
    drag('mousemove_relative', '4', '4')
    drag('mousemove_relative', '4', '4')
    drag('mouseup', '1')
    app.find('label', 'dropped')


ready = threading.Event()
threading.Thread(target=serve_session, args=(ready,), daemon=True).start()
assert ready.wait(10)
main()
