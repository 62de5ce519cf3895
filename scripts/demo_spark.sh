#!/usr/bin/env bash
# Runs the jobs in the process and on Spark, on the samples, and compares all rows of their tables.
set -euo pipefail

BIN=${VENV:-.venv}/bin
OUT=build/demo/engines
JOBS=${JOBS:-offsets traffic transactions metadata compaction share tiered}
JAVA_HOME=$(bash scripts/java.sh)
export JAVA_HOME

rm -rf "$OUT"
mkdir -p "$OUT"
different=0
for job in $JOBS; do
    "$BIN/kipwire" "$job" --out "$OUT/here/$job" --out-format jsonl >/dev/null
    "$BIN/kipspark" "$job" --out "$OUT/spark/$job" --out-format jsonl >/dev/null
    for table in "$OUT/here/$job"/*.jsonl; do
        name=$(basename "$table" .jsonl)
        rows=$(wc -l <"$table")
        if cmp -s <(LC_ALL=C sort "$table") <(LC_ALL=C sort "$OUT/spark/$job/$name.jsonl"); then
            printf '%-14s %-20s %6d rows, the same on both engines\n' "$job" "$name" "$rows"
        else
            printf '%-14s %-20s DIFFERENT: see %s and %s\n' "$job" "$name" "$table" "$OUT/spark/$job/$name.jsonl"
            different=1
        fi
    done
done
exit "$different"
