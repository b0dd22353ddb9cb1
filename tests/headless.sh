#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# headless.sh COMMAND...  - run COMMAND with a private D-Bus session, a private X server and pinned look
export GSK_RENDERER=${GSK_RENDERER:-cairo} GDK_BACKEND=x11 GSETTINGS_BACKEND=memory
export GTK_A11Y=${GTK_A11Y:-atspi} LC_ALL=C.UTF-8 NO_AT_BRIDGE=0
T=$(mktemp -d); trap 'rm -rf "$T"' EXIT
export XDG_CONFIG_HOME=$T/config XDG_DATA_HOME=$T/data XDG_CACHE_HOME=$T/cache XDG_STATE_HOME=$T/state XDG_RUNTIME_DIR=$T/run
mkdir -p -m 700 "$XDG_RUNTIME_DIR" "$XDG_CONFIG_HOME/gtk-4.0" "$XDG_DATA_HOME" "$XDG_CACHE_HOME"
printf '[Settings]\ngtk-font-name=Cantarell 11\ngtk-enable-animations=false\ngtk-cursor-blink=false\ngtk-icon-theme-name=Adwaita\ngtk-decoration-layout=:close\ngtk-hint-font-metrics=true\n' > "$XDG_CONFIG_HOME/gtk-4.0/settings.ini"
dbus-run-session -- xvfb-run -a -s "-screen 0 ${HEADLESS_SCREEN:-1400x900x24} -noreset" "$@"
