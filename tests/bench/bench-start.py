# SPDX-License-Identifier: Apache-2.0
"""How quick the window is, as JSON. Under tests/headless.sh, with the environment of tests/ui:

    first_frame_ms   from the start of the process to its first painted frame, with 1,000 runs in
                     the log, warm; target 250. Beside it an empty window of libadwaita, by turns, as
                     it comes and without the libraries of GL, and what part of its time ours takes.
                     What the processor worked until then says more than the clock on a busy machine
    live_cpu_percent of one core while another process writes a run of 20 steps a second into six
                     charts; target 15
    on_screen_ms     from the end of a step, as the log has it, until the window says it, seen
                     through accessibility; target 150

The target of a step on the screen holds for its 95th percentile."""
import json
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'ui'))

from gradus_ui import EXAMPLES, FILL_LOG, GRADUS, Desk  # noqa: E402
from uibot import wait  # noqa: E402

WINDOW = os.environ['GRADUS_BENCH_WINDOW']
RUNS = 1000
STARTS = 10
SECONDS = 10


def cpu_seconds(pid):
    with open('/proc/%d/stat' % pid, encoding='ascii') as file:
        fields = file.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def first_frame(*command, **environment):
    """Milliseconds on the clock, and of the processor, until the first frame was painted."""
    begin = time.clock_gettime(time.CLOCK_MONOTONIC)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, GRADUS_STARTUP_TIME='1', **environment))
    words = next(line for line in process.stderr if line.startswith('first-frame ')).split()
    time.sleep(0.5)
    process.terminate()
    process.wait()
    return int(words[1]) / 1e3 - begin * 1e3, int(words[3]) / 1e3


def summary(times):
    clock, worked = zip(*times)
    return {'median': round(statistics.median(clock), 1), 'all': [round(t, 1) for t in clock],
            'cpu': round(statistics.median(worked), 1)}


def bench_start(desk):
    desk.fill(RUNS, 20)
    starts = {'gradus': ((GRADUS, '--workspace', desk.workspace), {}),
              'empty_window': ((WINDOW,), {}),
              'empty_window_without_gl': ((WINDOW,), {'GDK_DEBUG': 'gl-disable'})}
    times = {name: [] for name in starts}
    # By turns, so that all of them see the same machine; the first round warms it up.
    for _ in range(STARTS + 1):
        for name, (command, environment) in starts.items():
            times[name].append(first_frame(*command, **environment))
    peers = {name: summary(taken[1:]) for name, taken in times.items()}
    ours = peers.pop('gradus')
    for peer in peers.values():
        peer['times'] = round(ours['median'] / peer['median'], 2)
        peer['cpu_times'] = round(ours['cpu'] / peer['cpu'], 2)
    return {'runs': RUNS, **ours, 'target': 250, **peers}


def start_live(desk):
    writer = subprocess.Popen([FILL_LOG, '--live', desk.workspace, '0', '2000',
                               os.path.join(EXAMPLES, 'fashion-cnn.json')])
    desk.others.append(writer)
    app = desk.start()
    app.wait_said('Loss', 'run live')
    app.wait_said('Memory', 'run live')
    app.resize(1400, 900)
    return app


def bench_cpu(app):
    time.sleep(2)
    before = cpu_seconds(app.pid)
    time.sleep(SECONDS)
    percent = (cpu_seconds(app.pid) - before) / SECONDS * 100
    return {'median': round(percent, 1), 'charts': 6, 'steps_per_second': 20, 'target': 15}


def bench_latency(app):
    """Reads the step in the panel, which changes with the charts, against the log's own times."""
    labels = app.search('label', within=app.find('filler', 'GradusTrainPanel'))
    step_label = next(label for label in labels
                      if re.fullmatch(r'[\d\s\u202f\xa0]+', label.name))
    seen = {}
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        name = step_label.name
        seen.setdefault(int(re.sub(r'\D', '', name)), time.time() * 1000)
        time.sleep(0.004)
    started = app.log.query("SELECT started FROM run WHERE name = 'live'")[0][0]
    ended = dict(app.log.query('SELECT step, time FROM scalar JOIN series ON series.id = series '
                               'JOIN run ON run.id = run WHERE run.name = ? AND series.name = ?',
                               'live', 'train/loss'))
    late = sorted(at - started - ended[step] for step, at in seen.items() if step in ended)[1:]
    return {'median': round(statistics.median(late), 1), 'p95': round(late[len(late) * 95 // 100], 1),
            'steps': len(late), 'target': 150}


def main():
    results = {}
    desk = Desk('bench-start')
    try:
        results['first_frame_ms'] = bench_start(desk)
    finally:
        desk.clear()
    desk = Desk('bench-live')
    try:
        app = start_live(desk)
        results['live_cpu_percent'] = bench_cpu(app)
        results['on_screen_ms'] = bench_latency(app)
        app.end()
    finally:
        desk.clear()
    results['machine'] = {'cpus': os.cpu_count(), 'load': os.getloadavg()[0]}
    print(json.dumps(results, indent=2))


main()
