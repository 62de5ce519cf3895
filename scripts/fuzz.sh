#!/usr/bin/env bash
# Fuzzes the kernel, built with AddressSanitizer and UBSan: every target for FUZZ_SECONDS, two of them at once.
# With the argument "build" it only builds what that takes; what is built and fresh is not built again.
set -euo pipefail

BIN=${VENV:-.venv}/bin
INTO=build/fuzz
CC=$(bash "$(dirname "$0")/compiler.sh")
export CC # for setuptools
SEED=${FUZZ_SEED:-0}

# The name of each target, its file, and its name in that file.
TARGETS=(
    "messages fuzz_native messages"
    "layouts fuzz_native layouts"
    "records fuzz_native records"
    "hostile-objects fuzz_objects hostile-objects"
    "threads fuzz_threads threads"
    "columns-bytes fuzz_columns bytes"
    "columns-ipc fuzz_columns ipc"
    "logs fuzz_logs logs"
)

# Runs a target and writes its last line, with the target's own name, next to its log.
fuzz() {
    local name=$1 file=$2 target=$3 status=0 line
    LD_PRELOAD=$("$CC" -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
        PYTHONPATH=$INTO "$BIN/python" -m "tests.fuzz.$file" "$INTO" \
        --target "$target" --seconds "${FUZZ_SECONDS:-60}" --seed "$SEED" >"$INTO/$name.log" 2>&1 || status=$?
    line=$(tail -n 1 "$INTO/$name.log")
    if [[ $line == "$target: "*" inputs, "* ]]; then
        line="$name: ${line#"$target: "}"
    else # it did not print that line
        line="$name: ended with exit status $status, after a sanitizer report or a crash"
        [ "$status" != 0 ] || status=1
    fi
    [ "$status" = 0 ] || { cat "$INTO/$name.log" >&2; line="$line; see $INTO/$name.log"; }
    echo "$line" | tee "$INTO/$name.line"
    echo "$status" >"$INTO/$name.status"
}

"$BIN/python" scripts/build_native.py --sanitize --into "$INTO"
"$BIN/kipgen" generate tests/data/forms --package forms_of_every_kind --out "$INTO"
"$BIN/kipgen" generate tests/data/layouts --package layouts_of_every_kind --out "$INTO"
[ "${1:-}" != build ] || exit 0
rm -f "$INTO"/*.status "$INTO"/*.line

for one in "${TARGETS[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n || true; done
    read -r name file target <<<"$one"
    fuzz "$name" "$file" "$target" &
done
wait

status=0
printf '\nFuzzed, each for %s s:\n' "${FUZZ_SECONDS:-60}"
for one in "${TARGETS[@]}"; do
    name=${one%% *}
    cat "$INTO/$name.line" 2>/dev/null || echo "$name: did not run"
    [ "$(cat "$INTO/$name.status" 2>/dev/null)" = 0 ] || status=1
done
exit "$status"
