#!/usr/bin/env bash
# Makes a virtual environment with what some extras and groups of pyproject.toml bring, in the versions of
# requirements-dev.lock, and with this checkout on its path: for what needs little of all that development needs.
#
#     scripts/small_venv.sh FOLDER EXTRA...
set -euo pipefail

PYTHON=${PYTHON:-python3}
FOLDER=$1
shift
STAMP=$FOLDER/.made-of
NEEDED=$(cat pyproject.toml requirements-dev.lock scripts/small_venv.sh scripts/locked.py | cksum) # is made again if any changes

if [ ! -x "$FOLDER/bin/python" ] || [ "$(cat "$STAMP" 2>/dev/null)" != "$* $NEEDED" ]; then
    rm -rf "$FOLDER"
    mkdir -p "$(dirname "$FOLDER")"
    "$PYTHON" -m venv "$FOLDER"
    "$FOLDER/bin/python" scripts/locked.py "$@" >"$FOLDER/wanted.txt"
    "$FOLDER/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes \
        --requirement "$FOLDER/wanted.txt"
    site=$("$FOLDER/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    printf '%s\n' "$PWD/generated" "$PWD/generator" "$PWD/pipeline" "$PWD/runtime" >"$site/kipwire-checkout.pth"
    for program in kipwire:kipwire.console.cli kipgen:kipgen.cli; do
        printf '#!%s\nfrom %s import main\nmain()\n' "$PWD/$FOLDER/bin/python" "${program#*:}" >"$FOLDER/bin/${program%%:*}"
        chmod +x "$FOLDER/bin/${program%%:*}"
    done
    echo "$* $NEEDED" >"$STAMP"
fi
