#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""screenshots.py GRADUS FILL_LOG RECIPE OUTPUT: every page, light and dark, in two sizes, in two languages.

Runs under tests/headless.sh. The pictures are for people; the test fails if a page cannot be shown."""
import os
import signal
import subprocess
import sys
import tempfile
import time

from uibot import App

gradus, fill_log, recipe, output = sys.argv[1:5]
sizes = [(1400, 900), (900, 600)]
pages = ['model', 'data', 'train', 'runs']
os.makedirs(output, exist_ok=True)
folder = tempfile.mkdtemp(prefix='gradus-shots-')
workspace = os.path.join(folder, 'workspace')
subprocess.check_call([fill_log, workspace, '13', '2000', recipe])
count = 0

for language in ['en_US', 'zh_CN']:
    for scheme in ['light', 'dark']:
        environment = dict(os.environ, LANGUAGE=language, ADW_DEBUG_COLOR_SCHEME='prefer-' + scheme)
        for name, where in [('', workspace), ('welcome', os.path.join(folder, 'empty'))]:
            process = subprocess.Popen([gradus, '--workspace', where], env=environment)
            app = App('gradus', process.pid)
            for width, height in sizes:
                app.resize(width, height)
                for page in ['train'] if name else pages:
                    app.key('alt+%d' % (1 + pages.index(page)))
                    time.sleep(1.2)
                    path = '%s-%s-%s-%dx%d.png' % (name or page, scheme, language, width, height)
                    app.shot(os.path.join(output, path), width, height)
                    count += 1
                    print('ok %d - %s' % (count, path), flush=True)
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0

print('1..%d' % count)
