#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""first-frame.py GRADUS WORKSPACE [N]: milliseconds from process start to the first painted frame.

Run it under tests/headless.sh. Prints every measurement and the median, as JSON."""
import json, os, statistics, subprocess, sys, time

program, workspace = sys.argv[1:3]
n = int(sys.argv[3]) if len(sys.argv) > 3 else 10
times = []
for _ in range(n + 1):
    start = time.clock_gettime(time.CLOCK_MONOTONIC)
    process = subprocess.Popen([program, '--workspace', workspace], stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, GRADUS_STARTUP_TIME='1'))
    for line in process.stderr:
        if line.startswith('first-frame '):
            times.append(int(line.split()[1]) / 1000 - start * 1000)
            break
    time.sleep(0.5)
    process.terminate()
    process.wait()
times = times[1:]
print(json.dumps({'first_frame_ms': [round(t, 1) for t in times], 'median': round(statistics.median(times), 1)}))
