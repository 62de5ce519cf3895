#!/usr/bin/env bash
# Prints the C compiler that the kernel is fuzzed with, one that has AddressSanitizer; installs it, and Python's header
# files, if they are missing.
set -euo pipefail

HERE=$(dirname "$0")

has_sanitizer() {
    command -v "$1" >/dev/null && [ -e "$("$1" -print-file-name=libasan.so)" ]
}

has_headers() {
    "${PYTHON:-python3}" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'
}

CC=${CC:-cc}
if ! has_headers && ! { bash "$HERE/install.sh" python3-dev "The kernel needs Python's header files" && has_headers; }; then
    echo "The kernel needs Python's header files (Python.h): install them, for example with apt-get install python3-dev" >&2
    exit 2
fi
has_sanitizer "$CC" && echo "$CC" && exit
bash "$HERE/install.sh" build-essential "The fuzzer compiles C with AddressSanitizer" && has_sanitizer "$CC" && echo "$CC" && exit
echo "The fuzzer compiles C with AddressSanitizer, which $CC cannot do here: install gcc, or choose a compiler: make fuzz-native CC=gcc" >&2
exit 2
