# SPDX-License-Identifier: Apache-2.0
"""Every page and dialog, light and dark, in two sizes and two languages, as PNG files for people to
look at: <folder>/<page>-<theme>-<width>x<height>-<language>.png. The runs are real ones where the
data set is there. Fails where a page cannot be shown."""
import os
import subprocess
import time

from gradus_ui import EXAMPLES, GRADUS_CLI, OUTPUT, case, main, write_recipe
from uibot import wait

SIZES = ((1400, 900), (900, 600))
PAGES = ('model', 'data', 'train', 'runs')
DATA = '/usr/share/datasets/fashion-mnist'


class Studio:
    """One start of the application in a theme and language."""

    def __init__(self, desk, theme, language, *arguments, workspace):
        self.suffix = '%s-%%dx%%d-%s.png' % (theme, language)
        self.app = desk.start(*arguments, workspace=workspace, environment={
            'ADW_DEBUG_COLOR_SCHEME': 'prefer-' + theme,
            'LANGUAGE': language,
        })
        self.size = None

    def resize(self, size):
        self.app.resize(*size)
        subprocess.check_call(['xdotool', 'mousemove', '0', '0'])
        self.size = size

    def shoot(self, page, settle=0.7):
        """The main window with whatever stands before it."""
        time.sleep(settle)
        window = self.app.x_windows()[0]
        x, y, width, height = self.app.geometry(window)
        dx, dy = (width - self.size[0]) // 2, (height - self.size[1]) // 2
        path = os.path.join(OUTPUT, '%s-%s' % (page, self.suffix % self.size))
        subprocess.check_call(['import', '-window', 'root', '-crop', '%dx%d+%d+%d' % (
            *self.size, max(x + dx, 0), max(y + dy, 0)), '+repage', path])

    def show_page(self, page):
        self.app.key('alt+%d' % (1 + PAGES.index(page)))
        wait(lambda: any(self.app.is_mapped(node) for node in
                         self.app.search('filler', 'Gradus%sPage' % page.capitalize())),
             'page ' + page)

    def shoot_pages(self):
        for page in PAGES:
            self.show_page(page)
            self.shoot(page)

    def dots(self):
        """What toggles the runs, whatever they are called here."""
        return [next(self.app.search('push button', within=row))
                for row in self.app.search('filler', 'GradusRunRow')]

    def shoot_dialogs(self):
        for combination, name in (('ctrl+n', 'form'), ('ctrl+comma', 'preferences'),
                                  ('ctrl+question', 'shortcuts')):
            self.app.key(combination)
            wait(lambda: len(self.app.windows()) == 2, name)
            self.shoot(name)
            self.app.key('Escape')
            wait(lambda: len(self.app.windows()) == 1, 'end of ' + name)


def train(desk, recipe, *assignments):
    options = [word for assignment in assignments for word in ('--set', assignment)]
    subprocess.check_call([GRADUS_CLI, 'train', recipe, '--workspace', desk.workspace, '--quiet',
                           *options], stdout=subprocess.DEVNULL)


def fill(desk):
    desk.fill(11, 1500)
    train(desk, os.path.join(EXAMPLES, 'line.json'))
    if os.path.isdir(DATA):
        dense = os.path.join(EXAMPLES, 'fashion-dense.json')
        train(desk, dense, 'name="dense-sgd"', 'fit.epochs=4',
              'compile.optimizer={"class_name": "SGD", "config": {"learning_rate": 0.05}}')
        train(desk, dense, 'name="dense-adam"', 'fit.epochs=4')


def shoot_all(desk, theme, language):
    empty = os.path.join(desk.folder, 'empty')
    studio = Studio(desk, theme, language, workspace=empty)
    for size in SIZES:
        studio.resize(size)
        studio.shoot('welcome')
    studio.app.end()

    recipe = os.path.join(EXAMPLES, 'fashion-cnn.json')
    studio = Studio(desk, theme, language, recipe, workspace=empty)
    for size in SIZES:
        studio.resize(size)
        studio.shoot('ready', 1.5)
    studio.app.end()

    studio = Studio(desk, theme, language, workspace=desk.workspace)
    wait(lambda: len(studio.dots()) > 3, 'runs')
    studio.resize(SIZES[0])
    studio.dots()[1].queryAction().doAction(0)
    for size in SIZES:
        studio.resize(size)
        studio.shoot_pages()
    studio.resize(SIZES[0])
    studio.show_page('train')
    studio.shoot_dialogs()
    studio.app.end()

    broken = os.path.join(desk.folder, 'broken')
    if not os.path.exists(broken):
        with open(broken, 'w', encoding='utf-8') as file:
            file.write('not a folder')
    studio = Studio(desk, theme, language, workspace=broken)
    studio.resize(SIZES[0])
    studio.shoot('error', 1.5)
    studio.app.end()


def shoot_live(desk, theme, language):
    """A run at work, and the question at closing."""
    recipe = write_recipe(desk.folder, 'line', **{'fit.epochs': 3000})
    studio = Studio(desk, theme, language, recipe, workspace=os.path.join(desk.folder, theme))
    studio.resize(SIZES[0])
    studio.app.key('ctrl+Return')
    studio.app.log.wait_step('line', 2000)
    studio.shoot('live')
    studio.app.action('window.close')
    wait(lambda: len(studio.app.windows()) == 2, 'question')
    studio.shoot('closing')
    studio.app.end()


@case
def english(desk):
    fill(desk)
    for theme in ('light', 'dark'):
        shoot_all(desk, theme, 'en')
        shoot_live(desk, theme, 'en')


@case
def chinese(desk):
    fill(desk)
    for theme in ('light', 'dark'):
        shoot_all(desk, theme, 'zh_CN')


os.makedirs(OUTPUT, exist_ok=True)
main()
