# SPDX-License-Identifier: Apache-2.0
"""Bad input gets a message with its place, and nothing is lost."""
import contextlib
import os
import shutil
import sqlite3

from gradus_ui import case, main, write_recipe
from uibot import wait


def write(desk, name, text):
    path = os.path.join(desk.folder, name)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    return path


def refused(desk, path, *said):
    app = desk.start(path)
    app.dialog('The Recipe Cannot Be Opened')
    for text in said:
        app.find_text(text)
    app.answer('Close')
    wait(lambda: len(app.windows()) == 1, 'closed dialog')
    app.press('Straight Line')
    app.find('push button', 'Train')


@case
def no_json(desk):
    refused(desk, write(desk, 'broken.json', '{"name": "x",,}'), 'broken.json')


@case
def no_such_file(desk):
    refused(desk, os.path.join(desk.folder, 'absent.json'), 'absent.json')


@case
def an_unknown_key(desk):
    refused(desk, write_recipe(desk.folder, 'typo', **{'fit': {'epoch': 3}}),
            'Unknown key “epoch” at /fit', 'typo.json', 'did you mean “epochs”?')


@case
def a_wrong_type(desk):
    refused(desk, write_recipe(desk.folder, 'typed', **{'fit.epochs': 'many'}), '/fit/epochs')


@case
def a_missing_data_set(desk):
    gone = os.path.join(desk.folder, 'gone.gz')
    source = {'type': 'idx', 'inputs': gone, 'targets': gone}
    app = desk.start(write_recipe(desk.folder, 'no-data', **{'data.train': source}))
    app.find_text('gone.gz')
    assert app.process.poll() is None


@case
def a_model_that_does_not_fit(desk):
    path = write_recipe(desk.folder, 'no-fit', **{'compile.loss': 'sparse_categorical_crossentropy'})
    app = desk.start(path)
    app.press('Train')
    wait(lambda: app.log.status('no-fit') in ('failed', None) and
         (app.peek('label', 'failed') or any(node.name for node in app.search('label')
                                             if 'crossentropy' in node.name)), 'refusal')
    assert app.process.poll() is None


def unopened(desk, *said):
    app = desk.start()
    page = app.find('push button', 'Try Again')
    wait(lambda: app.is_mapped(page), 'page of the error')
    for text in said:
        app.find_text(text)
    return app


@case
def a_newer_workspace(desk):
    desk.fill(1, 20)
    path = os.path.join(desk.workspace, 'runs.sqlite')
    with contextlib.closing(sqlite3.connect(path)) as database:
        version = database.execute('PRAGMA user_version').fetchone()[0]
        database.execute('PRAGMA user_version = %d' % (version + 1000))
    app = desk.start()
    # It can be looked at, and not trained in.
    app.find_text('was written by a newer version of Gradus')
    app.wait_said('Loss', 'run cnn-1')
    app.press('Train Again…')
    form = app.window('New Run')
    app.find('text', 'Name', within=form)
    app.press('Keep for Later', within=form)
    button = app.find('push button', 'Train', within=app.find('filler', 'GradusTrainPanel'))
    assert not app.is_sensitive(button)
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute('SELECT COUNT(*) FROM run').fetchone()[0] == 1


@case
def a_damaged_workspace(desk):
    desk.fill(1, 20)
    path = os.path.join(desk.workspace, 'runs.sqlite')
    with open(path, 'r+b') as file:
        file.write(b'this was a database once' * 400)
    app = unopened(desk, path)
    with open(path, 'rb') as file:
        assert file.read(4) == b'this'
    app.close()


@case
def a_file_where_the_workspace_should_be(desk):
    with open(desk.workspace, 'w', encoding='utf-8') as file:
        file.write('not a folder')
    app = unopened(desk, desk.workspace)
    os.remove(desk.workspace)
    app.press('Try Again')
    app.press('Straight Line')
    app.press('Train')
    app.log.wait_status('line', 'finished')


@case
def a_workspace_that_goes_away(desk):
    desk.fill(1, 20)
    app = desk.start()
    app.wait_said('Loss', 'run cnn-1')
    shutil.rmtree(desk.workspace)
    app.press('New Run')
    app.window('New Run')
    assert app.process.poll() is None


main()
