# SPDX-License-Identifier: Apache-2.0
"""Prints passed, failed and skipped cases of a JUnit file as Meson writes it."""
import sys
import xml.etree.ElementTree as ElementTree

passed = failed = skipped = 0
for suite in ElementTree.parse(sys.argv[1]).getroot().iter('testsuite'):
    cases = list(suite.iter('testcase'))
    bad = sum(1 for case in cases if case.find('failure') is not None or case.find('error') is not None)
    out = sum(1 for case in cases if case.find('skipped') is not None)
    # A program that dies reports the failure on the suite, not on a case.
    if bad == 0 and int(suite.get('failures', 0)) + int(suite.get('errors', 0)) > 0:
        bad = 1
    passed += len(cases) - sum(1 for case in cases if len(case) and case[0].tag in ('failure', 'error', 'skipped'))
    failed += bad
    skipped += out
print(passed, failed, skipped)
