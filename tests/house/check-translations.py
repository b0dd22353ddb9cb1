# SPDX-License-Identifier: Apache-2.0
"""Fails on a file with translatable strings that POTFILES misses, and on an incomplete translation.

check-translations.py SOURCE_ROOT writes TAP.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(sys.argv[1]).resolve()
FOLDERS = ('app', 'widgets', 'data', 'engine', 'resources')
# Calls that mark a string, not the definition of such a macro.
MARKED = {
    '.c': re.compile(r'(?<![\w#])(?:N?C?_|ngettext|g_dngettext|g_dpgettext2?|NC_)\s*\(\s*"'),
    '.h': re.compile(r'(?<![\w#])(?:N?C?_|ngettext|NC_)\s*\(\s*"'),
    '.ui': re.compile(r'translatable="(?:yes|true|1)"'),
    '.xml': re.compile(r'<(?:summary|description|name|caption|p|li)(?: [^>]*)?>'),
    '.desktop': re.compile(r'^(?:Name|Comment|GenericName|Keywords)=', re.M),
}
KEYWORDS = ['--keyword=_', '--keyword=N_', '--keyword=C_:1c,2', '--keyword=NC_:1c,2', '--keyword=g_dngettext:2,3',
            '--keyword=ngettext:1,2', '--keyword=g_dpgettext2:2c,3', '--from-code=UTF-8', '--add-comments']


def kind_of(path):
    name = path.name
    if name.endswith('.gresource.xml'):
        return None
    if name.endswith(('.desktop', '.desktop.in')):
        return '.desktop'
    if name.endswith(('.gschema.xml', '.metainfo.xml', '.metainfo.xml.in', '.gschema.xml.in')):
        return '.xml'
    return path.suffix if path.suffix in ('.c', '.h', '.ui') else None


def files_with_strings():
    for folder in FOLDERS:
        for path in sorted((SOURCE / folder).rglob('*')):
            kind = kind_of(path) if path.is_file() else None
            if kind and MARKED[kind].search(path.read_text(encoding='utf-8')):
                yield path.relative_to(SOURCE).as_posix()


def potfiles():
    lines = (SOURCE / 'po/POTFILES').read_text(encoding='utf-8').splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith('#')]


def check_potfiles():
    listed = potfiles()
    problems = [f'{name} has translatable strings and is missing from po/POTFILES'
                for name in files_with_strings() if name not in listed]
    problems += [f'po/POTFILES names {name}, which is not there' for name in listed if not (SOURCE / name).exists()]
    if listed != sorted(listed):
        problems.append('po/POTFILES is not sorted')
    return problems


def run(*command):
    return subprocess.run(command, cwd=SOURCE, capture_output=True, text=True)


def check_language(language):
    """A template made afresh from the sources, merged: nothing may be left untranslated or fuzzy."""
    po = f'po/{language}.po'
    checked = run('msgfmt', '--check', '-o', '/dev/null', po)
    problems = [line for line in checked.stderr.splitlines() if line] if checked.returncode else []
    with tempfile.TemporaryDirectory() as folder:
        pot, merged = f'{folder}/gradus.pot', f'{folder}/merged.po'
        made = run('xgettext', *KEYWORDS, '-f', 'po/POTFILES', '-o', pot)
        if made.returncode:
            return problems + made.stderr.splitlines()
        joined = run('msgmerge', '--quiet', '-o', merged, po, pot)
        if joined.returncode:
            return problems + joined.stderr.splitlines()
        for option, word in (('--untranslated', 'untranslated'), ('--only-fuzzy', 'fuzzy')):
            left = run('msgattrib', option, '--no-obsolete', '--no-wrap', merged).stdout
            problems += [f'{language}: {word}: {text}' for text in re.findall(r'^msgid "(.+)"$', left, re.M)]
    return problems


def main():
    languages = (SOURCE / 'po/LINGUAS').read_text(encoding='utf-8').split()
    checks = [('POTFILES', check_potfiles)] + [(language, lambda language=language: check_language(language)) for language in languages]
    print(f'1..{len(checks)}')
    failed = False
    for number, (name, check) in enumerate(checks, 1):
        problems = check()
        for problem in problems:
            print(f'# {problem}')
        print(f'{"not ok" if problems else "ok"} {number} - {name}')
        failed |= bool(problems)
    return 1 if failed else 0


sys.exit(main())
