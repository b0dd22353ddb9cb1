#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the steps of Gradus beside those of its peers, by turns, and prints JSON.

    compare.py GRADUS-CLI [NETWORK...] --peer PYTHON [--peer PYTHON...] [--rounds N]

Each --peer is a Python that has torch, tensorflow or both. It runs with two threads and with one, images with channels last and first, the C
library told not to give pages back, and its fastest counts. A target whose peer did not run is not met.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

TARGETS = {'mlp': 0.5, 'cnn': 0.75, 'lstm': 0.5, 'transformer': 0.8}
TUNED = {'MALLOC_MMAP_MAX_': '0', 'MALLOC_TRIM_THRESHOLD_': '10000000000', 'MALLOC_TOP_PAD_': '67108864'}
PEERS = pathlib.Path(__file__).parent / 'peers'


def ours(cli, network):
    done = subprocess.run([cli, 'bench', network], capture_output=True, text=True)
    return json.loads(done.stdout)['results'][0] if done.returncode == 0 else None


def peer(python, script, network, flags):
    done = subprocess.run([python, PEERS / script, network, *flags], capture_output=True, text=True, env={**os.environ, **TUNED})
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def settings(network):
    for threads in ('2', '1'):
        yield 'step_torch.py', ['--threads', threads]
        if network == 'cnn':
            yield 'step_torch.py', ['--threads', threads, '--channels-last']
    yield 'step_tensorflow.py', ['--threads', '2']
    yield 'step_tensorflow.py', ['--threads', '2', '--xla']


def compare(cli, network, pythons, rounds):
    mine, theirs = [], {}
    for _ in range(rounds):
        mine.append(ours(cli, network))
        for python in pythons:
            for script, flags in settings(network):
                result = peer(python, script, network, flags)
                if result is not None:
                    theirs.setdefault((result['peer'], ' '.join(flags)), []).append(result['step_ms'])
    step = statistics.median(m['step_ms'] for m in mine)
    best = min(theirs, key=lambda k: statistics.median(theirs[k]), default=None)
    ratio = step / statistics.median(theirs[best]) if best else None
    return {'network': network, 'step_ms': step, 'step_ms_least': min(m['step_ms_least'] for m in mine),
            'ratio_to_library': statistics.median(m['ratio_to_library'] for m in mine),
            'build_ms': statistics.median(m['build_ms'] for m in mine),
            'peers': {f'{name} {flags}': statistics.median(times) for (name, flags), times in theirs.items()},
            'fastest_peer': ' '.join(best) if best else None, 'ratio': ratio, 'target': TARGETS[network],
            'met': ratio is not None and ratio <= TARGETS[network]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('cli')
    parser.add_argument('networks', nargs='*', default=[])
    parser.add_argument('--peer', action='append', default=[])
    parser.add_argument('--rounds', type=int, default=3)
    args = parser.parse_args()
    results = [compare(args.cli, n, args.peer, args.rounds) for n in args.networks or TARGETS]
    json.dump({'load': os.getloadavg()[0], 'results': results}, sys.stdout, indent=2)
    print()


main()
