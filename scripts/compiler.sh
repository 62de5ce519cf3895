#!/usr/bin/env bash
# Prints the C compiler that the kernel is fuzzed with, one that has AddressSanitizer; installs one if there is none.
set -euo pipefail

has_sanitizer() {
    command -v "$1" >/dev/null && [ -e "$("$1" -print-file-name=libasan.so)" ]
}

CC=${CC:-cc}
has_sanitizer "$CC" && echo "$CC" && exit
bash "$(dirname "$0")/install.sh" build-essential "The fuzzer compiles C with AddressSanitizer" && has_sanitizer "$CC" && echo "$CC" && exit
echo "The fuzzer compiles C with AddressSanitizer, which $CC does not do here: install gcc, or name a compiler: make fuzz-native CC=gcc" >&2
exit 2
