#!/usr/bin/env bash
# Fuzzes the kernel, built with AddressSanitizer and UBSan, by messages and by columns side by side, each for FUZZ_SECONDS.
set -euo pipefail

BIN=${VENV:-.venv}/bin
INTO=build/fuzz
CC=$(bash "$(dirname "$0")/compiler.sh")
export CC # for setuptools

fuzz() {
    LD_PRELOAD=$("$CC" -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
        PYTHONPATH=tests:$INTO "$BIN/python" "tests/$1.py" "$INTO" --seconds "${FUZZ_SECONDS:-60}"
}

"$BIN/python" scripts/build_native.py --sanitize --into "$INTO"
"$BIN/kipgen" generate tests/data/forms --package forms_of_every_kind --out "$INTO"
"$BIN/kipgen" generate tests/data/layouts --package layouts_of_every_kind --out "$INTO"
fuzz fuzz_native &
messages=$!
status=0
fuzz fuzz_columns || status=$?
wait "$messages" || status=$?
exit "$status"
