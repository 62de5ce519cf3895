#!/usr/bin/env bash
# Installs a Debian package and says so, where that can be done: install.sh PACKAGE REASON; fails without a word where not.
# KIPWIRE_INSTALL=no forbids it.
set -euo pipefail

[ "${KIPWIRE_INSTALL:-yes}" != no ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || exit 1
echo "$2; installing Debian's package $1 by apt-get, as this is root (KIPWIRE_INSTALL=no forbids it)" >&2
{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1"; } >&2
