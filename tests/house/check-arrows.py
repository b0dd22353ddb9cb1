# SPDX-License-Identifier: Apache-2.0
"""Fails on an include or an undefined symbol that the architecture does not allow.

check-arrows.py SOURCE_ROOT BUILD_ROOT writes TAP. An arrow may be drawn between two parts of the
house, or from a part to a library outside; both are read from the includes of the sources and
from the symbols of the archives.
"""
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(sys.argv[1]).resolve()
BUILD = pathlib.Path(sys.argv[2]).resolve()

# Part: (folder, include roots within the house, parts it may use, libraries it may use, archive).
PARTS = {
    'base': ('engine/base', ['engine/base'], set(), {'glib', 'json-glib', 'openmp'}, 'engine/base/libgradus-base.a'),
    'interfaces': ('engine/train/interfaces', ['engine/base', 'engine/train/interfaces'], {'base'}, {'glib'}, None),
    'engine': ('engine', ['engine', 'engine/base', 'engine/train/interfaces'], {'base', 'interfaces'},
               {'glib', 'json-glib', 'onednn', 'openblas'}, 'engine/libgradus-engine.a'),
    'data': ('data', ['data', 'engine/base', 'engine/train/interfaces'], {'base', 'interfaces'},
             {'glib', 'gio', 'json-glib', 'sqlite', 'zlib'}, 'data/libgradus-data.a'),
    'widgets': ('widgets', ['widgets'], set(), {'glib', 'gio', 'gtk', 'adwaita', 'cairo', 'pango'},
                'widgets/libgradus-widgets.a'),
    'core': ('app/core', ['app/core', 'data', 'engine', 'engine/base', 'engine/train/interfaces'],
             {'base', 'interfaces', 'engine', 'data'}, {'glib', 'gio', 'json-glib'}, 'app/core/libgradus-core.a'),
    'cli': ('app/cli', ['app/cli', 'app/core', 'data', 'engine', 'engine/base', 'engine/train/interfaces'],
            {'base', 'interfaces', 'engine', 'data', 'core'}, {'glib', 'gio', 'json-glib'}, None),
    'window': ('app/window', ['app/window', 'app/core', 'widgets', 'data', 'engine', 'engine/base', 'engine/train/interfaces'],
               {'base', 'interfaces', 'engine', 'data', 'core', 'widgets'},
               {'glib', 'gio', 'json-glib', 'gtk', 'adwaita', 'cairo', 'pango'}, 'app/window/libgradus-window.a'),
}

# The engine's modules in their order: each knows only those before it.
ENGINE_ORDER = ['tensor', 'graph', 'ops', 'formula', 'passes', 'plan', 'device', 'model', 'train', 'diagnosis', 'exchange']

LIBRARY_OF_HEADER = [
    (r'^glib(/|\.h|-unix\.h|-object\.h)|^glib-object\.h|^gobject/|^gmodule\.h', 'glib'),
    (r'^gio/', 'gio'),
    (r'^json-glib/', 'json-glib'),
    (r'^sqlite3', 'sqlite'),
    (r'^zlib\.h', 'zlib'),
    (r'^(oneapi/dnnl/)?dnnl', 'onednn'),
    (r'^cblas|^openblas', 'openblas'),
    (r'^omp\.h', 'openmp'),
    (r'^(gtk|gdk|gsk)/', 'gtk'),
    (r'^adwaita', 'adwaita'),
    (r'^cairo', 'cairo'),
    (r'^pango/', 'pango'),
]
SYSTEM = re.compile(r'^(sys|linux|asm|bits|netinet)/|^(std\w+|string|strings|math|float|limits|errno|fcntl|unistd|signal|'
                    r'time|locale|ctype|assert|inttypes|setjmp|pthread|sched|poll|dirent|termios|dlfcn|malloc|fenv|'
                    r'immintrin|xmmintrin|x86intrin|pmmintrin|cpuid|pwd|grp|getopt|libgen|features|execinfo)\.h$|^config\.h$')
SYMBOLS = [
    (r'^(gtk|gdk|gsk)_', 'gtk'), (r'^adw_', 'adwaita'), (r'^sqlite3_', 'sqlite'), (r'^dnnl_', 'onednn'),
    (r'^(cblas|openblas)_', 'openblas'), (r'^json_', 'json-glib'), (r'^omp_', 'openmp'), (r'^cairo_', 'cairo'), (r'^pango_', 'pango'),
    (r'^(inflate|deflate|gz|crc32)', 'zlib'),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def part_of(path):
    """The part whose folder holds the path; the deepest folder wins."""
    relative = path.relative_to(SOURCE).as_posix()
    best = None
    for name, (folder, *_) in PARTS.items():
        if relative.startswith(folder + '/') and (best is None or len(folder) > len(PARTS[best][0])):
            best = name
    return best


def library_of(table, name):
    return next((library for pattern, library in table if re.search(pattern, name)), None)


def check_engine_order(path, target, problems):
    here, there = (p.relative_to(SOURCE / 'engine').parts[0] for p in (path, target))
    if here in ENGINE_ORDER and there in ENGINE_ORDER and ENGINE_ORDER.index(there) > ENGINE_ORDER.index(here):
        problems.append(f'{path.relative_to(SOURCE)}: {here} must not know {there}')


def check_include(path, kind, name, problems):
    part = part_of(path)
    _, roots, may_use, libraries, _ = PARTS[part]
    where = path.relative_to(SOURCE)
    candidates = [path.parent / name] + [SOURCE / root / name for root in roots]
    target = next((c.resolve() for c in candidates if c.exists()), None) if kind == '"' else None
    if target is not None:
        other = part_of(target)
        if other != part and other not in may_use:
            problems.append(f'{where}: {part} must not include {name} of {other}')
        elif part == other == 'engine':
            check_engine_order(path, target, problems)
        return
    if kind == '"' and name not in ('config.h',) and not name.endswith('-resources.h') and not name.endswith('-enums.h'):
        problems.append(f'{where}: {name} is in none of the include folders of {part}')
        return
    library = library_of(LIBRARY_OF_HEADER, name)
    if library is None and not SYSTEM.search(name) and kind == '<':
        problems.append(f'{where}: <{name}> belongs to no library known to this test')
    elif library is not None and library not in libraries:
        problems.append(f'{where}: {part} must not include <{name}> of {library}')


def check_includes():
    problems, n_read = [], 0
    for path in sorted(SOURCE.glob('*/**/*.[ch]')):
        if part_of(path) is None:
            continue
        n_read += 1
        for kind, name in INCLUDE.findall(path.read_text(encoding='utf-8')):
            check_include(path, kind, name, problems)
    if n_read == 0:
        problems.append('no source was read')
    return problems


def nm(path, *options):
    text = subprocess.run(['nm', *options, str(path)], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in text.splitlines() if line and not line.endswith(':') and len(line.split()) > 1}


def gio_symbols():
    for folder in ('/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64', '/usr/lib'):
        library = pathlib.Path(folder) / 'libgio-2.0.so.0'
        if library.exists():
            return {s.split('@')[0] for s in nm(library, '-D', '--defined-only')}
    return set()


def check_symbols():
    problems, defined, undefined = [], {}, {}
    for part, (*_, archive) in PARTS.items():
        if archive is None:
            continue
        if not (BUILD / archive).exists():
            problems.append(f'{archive} was not built')
            continue
        undefined[part] = nm(BUILD / archive, '-u')
        for symbol in nm(BUILD / archive, '--defined-only', '-g'):
            defined.setdefault(symbol, part)
    gio = gio_symbols()
    for part, symbols in undefined.items():
        _, _, may_use, libraries, _ = PARTS[part]
        for symbol in sorted(symbols):
            owner = defined.get(symbol)
            library = 'gio' if symbol in gio else library_of(SYMBOLS, symbol)
            if owner is not None and owner != part and owner not in may_use:
                problems.append(f'{part} must not call {symbol} of {owner}')
            elif owner is None and library is not None and library not in libraries:
                problems.append(f'{part} must not call {symbol} of {library}')
    return problems


def check_forbidden_arrows_are_seen():
    """The test must be able to fail: feeds it arrows that are not drawn."""
    problems = []
    for folder, kind, name in (('widgets', '"', 'graph/gradus-op.h'), ('engine/ops', '<', 'gtk/gtk.h'),
                               ('data/log', '"', 'model/gradus-model.h'), ('app/core', '<', 'adwaita.h'),
                               ('engine/graph', '"', 'model/gradus-model.h')):
        found = []
        check_include(SOURCE / folder / 'gradus-invented.c', kind, name, found)
        if not found:
            problems.append(f'an include of {name} in {folder} was not seen')
    return problems


def main():
    checks = [('includes', check_includes), ('symbols', check_symbols), ('forbidden arrows are seen', check_forbidden_arrows_are_seen)]
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
