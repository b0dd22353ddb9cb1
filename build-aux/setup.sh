# SPDX-License-Identifier: Apache-2.0
# Read by ./run and ./check: brings the machine and the build up to date, quickly when they are.

fail () { printf '%s\n' "$*" >&2; exit 1; }

# install_packages PATTERN: installs what is missing of the lines of debian-packages whose second
# word matches.
install_packages ()
{
  local wanted missing sudo=
  wanted=$(awk -v who="^($1)\$" '!/^#/ && NF > 1 && $2 ~ who { print $1 }' "$source_dir/debian-packages")
  missing=$(comm -23 <(sort -u <<< "$wanted") \
    <(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' | awk '$1 == "ii" { print $2 }' | sort -u))
  [ -n "$missing" ] || return 0
  command -v apt-get > /dev/null ||
    fail "These Debian packages are missing and there is no apt-get here to install them:" $missing
  if [ "$(id -u)" != 0 ]; then
    command -v sudo > /dev/null || fail "These packages are missing; install them as root:" $missing
    sudo=sudo
  fi
  printf 'Installing Debian packages: %s\n' "$(tr '\n' ' ' <<< "$missing")"
  $sudo apt-get update -qq || fail "The list of Debian packages could not be read (apt-get update)."
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing \
    > "${TMPDIR:-/tmp}/gradus-apt.$$" 2>&1 ||
    { tail -n 20 "${TMPDIR:-/tmp}/gradus-apt.$$" >&2; fail "apt-get could not install the packages."; }
  rm -f "${TMPDIR:-/tmp}/gradus-apt.$$"
}

# build_in FOLDER [MESON OPTION...]: configures once, then builds what changed.
build_in ()
{
  local folder=$1
  shift
  if [ ! -f "$folder/build.ninja" ]; then
    printf 'Building for the first time: this takes some minutes.\n'
    meson setup "$folder" "$source_dir" "$@" > "$folder.log" 2>&1 ||
      { tail -n 30 "$folder.log" >&2; fail "The build could not be configured: see $folder.log"; }
    rm -f "$folder.log"
  fi
}
