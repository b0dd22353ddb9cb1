# SPDX-License-Identifier: Apache-2.0
"""Several runs over each other, and the list that they are toggled in."""
from gradus_ui import case, main
from uibot import wait


@case
def toggled_runs_are_overlaid(desk):
    desk.fill(3, 200)
    app = desk.start()
    app.wait_said('Loss', 'run ')
    names = app.log.names()
    focused = next(name for name in names if 'run %s ' % name in app.said('Loss'))
    others = [name for name in names if name != focused]

    for other in others:
        assert other not in app.said('Loss')
    app.press('Show %s in the charts' % others[0])
    wait(lambda: others[0] in app.said('Loss') and focused in app.said('Loss'),
         'summary that names %s and %s' % (focused, others[0]))
    app.press('Show %s in the charts' % others[1])
    wait(lambda: all(name in app.said('Loss') for name in names), 'summary that names all three')
    app.press('Show %s in the charts' % others[0])
    wait(lambda: others[0] not in app.said('Loss'), 'summary without %s' % others[0])


@case
def the_focused_row_is_what_the_panel_shows(desk):
    desk.fill(3, 200)
    app = desk.start()
    app.wait_said('Loss', 'run ')
    rows = app.find('list', 'Runs')
    for index in range(3):
        app.select('Runs', index)
        name = app.log.names()[2 - index]
        wait(lambda: 'run %s ' % name in app.said('Loss'), 'chart of %s' % name)
    assert rows.childCount == 3


@case
def runs_are_deleted_and_brought_back(desk):
    desk.fill(2, 100)
    app = desk.start()
    app.wait_said('Loss', 'run ')
    name = app.log.names()[-1]
    app.select('Runs', 0)
    wait(lambda: 'run %s ' % name in app.said('Loss'), 'chart of %s' % name)
    app.key('alt+3', 'F2')
    app.dialog('Rename Run')
    app.key('Escape')
    wait(lambda: len(app.windows()) == 1, 'closed dialog')

    app.action('win.delete')
    app.find_text('%s deleted' % name)
    wait(lambda: app.find('list', 'Runs').childCount == 1, 'shorter list')
    app.press('Undo', contains=True)
    wait(lambda: app.find('list', 'Runs').childCount == 2, 'list as it was')
    assert name in app.log.names()


main()
