#!/usr/bin/env bash
# Sets up, runs the main jobs on data in the repo, and says what to open next.
set -euo pipefail

BIN=${VENV:-.venv}/bin
PAGE=build/offsets.html

cat <<'TEXT'
kipwire's demo, on data of a real cluster in the repo:
  1. set up .venv if it is missing, and bring the generated classes up to date
  2. decode 2,186 frames of real clients and brokers, encode them again and compare the bytes
  3. read the brokers' log segments on Spark, and write a page on what the consumer groups did

TEXT

echo "1. Set-up and generated classes"
${MAKE:-make} --no-print-directory --silent setup
"$BIN/kipgen" generate | sed '/^$/d'

printf '\n2. Frames\n'
"$BIN/python" examples/decode_capture.py

printf '\n3. Consumer groups\n'
mkdir -p "$(dirname "$PAGE")"
JAVA_HOME="$(bash scripts/java.sh)" "$BIN/kipspark" offsets --html "$PAGE"

cat <<TEXT

What to open next:
  $PAGE
      commits, lag over time and members of the groups, with charts
  $BIN/python examples/decode_capture.py --all
      a line for every frame
  $BIN/kipwire inspect HeartbeatResponse 4 00000000001900
      every byte of a message, explained
  docs/getting-started.md
      your own protocol, from a spec to classes
TEXT
