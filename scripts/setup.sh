#!/usr/bin/env bash
# Makes the virtual environment of a checkout: finds a new enough Python, installs what pyproject.toml requires in the
# versions of requirements-dev.lock, whose hashes pip checks.
set -euo pipefail

PYTHON=${PYTHON:-python3}
VENV=${VENV:-.venv}

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

for candidate in "$PYTHON" python3.14 python3.13 python3.12 python3.11; do
    if command -v "$candidate" >/dev/null && is_new_enough "$candidate"; then
        found=$candidate
        break
    fi
done
if [ -z "${found:-}" ]; then
    echo "kipwire needs Python 3.11 or newer; install one, or set its path: make setup PYTHON=/path/to/python" >&2
    exit 2
fi

if [ ! -x "$VENV/bin/python" ]; then
    echo "Making $VENV with $("$found" --version)"
    if ! "$found" -m venv "$VENV" >/dev/null 2>&1; then
        rm -rf "$VENV"
        bash "$(dirname "$0")/install.sh" python3-venv "This Python cannot make virtual environments" || {
            echo "This Python cannot make virtual environments: install its venv module, for example with apt-get install python3-venv" >&2
            exit 2
        }
        "$found" -m venv "$VENV"
    fi
fi
echo "Installing kipwire and its development dependencies into $VENV (pyproject.toml says what each is for)"
"$VENV/bin/pip" install --quiet --disable-pip-version-check --require-hashes --requirement requirements-dev.lock
# The checkout has no hash, so it is installed by itself; all that it needs is there already, and what builds it, too.
"$VENV/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
