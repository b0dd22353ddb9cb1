# SPDX-License-Identifier: Apache-2.0
"""Prints passed, failed and skipped cases of a test run, from the files that Meson writes about it.

    tally.py FOLDER      a build folder: meson-logs/testlog.junit.xml and testlog.json

A program that fails without a failed case, such as one that leaks, counts as one failure.
"""
import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

logs = pathlib.Path(sys.argv[1]) / 'meson-logs'
passed = failed = skipped = told = 0
for suite in ElementTree.parse(logs / 'testlog.junit.xml').getroot().iter('testsuite'):
    cases = list(suite.iter('testcase'))
    bad = sum(1 for case in cases if case.find('failure') is not None or case.find('error') is not None)
    out = sum(1 for case in cases if case.find('skipped') is not None)
    # A program that dies reports the failure on the suite, not on a case.
    if bad == 0 and int(suite.get('failures', 0)) + int(suite.get('errors', 0)) > 0:
        bad = 1
    passed += len(cases) - sum(1 for case in cases if len(case) and case[0].tag in ('failure', 'error', 'skipped'))
    failed += bad
    skipped += out
    told += bad > 0
programs = [json.loads(line) for line in (logs / 'testlog.json').read_text().splitlines()]
bad = sum(1 for program in programs if program['result'] not in ('OK', 'SKIP', 'EXPECTEDFAIL'))
failed += max(0, bad - told)
print(passed, failed, skipped)
