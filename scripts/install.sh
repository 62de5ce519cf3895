#!/usr/bin/env bash
# Installs a Debian package and says so, if possible: install.sh PACKAGE REASON; otherwise fails silently.
# KIPWIRE_INSTALL=no forbids it.
set -euo pipefail

[ "${KIPWIRE_INSTALL:-yes}" != no ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || exit 1
echo "$2; installing Debian's package $1 with apt-get, since this is root (KIPWIRE_INSTALL=no forbids it)" >&2
{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1"; } >&2
