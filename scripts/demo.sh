#!/usr/bin/env bash
# Runs the main jobs on data in the repo, with what they need and no more, and says what to open next.
set -euo pipefail

VENV=build/demo/venv
BIN=$VENV/bin
PAGE=build/offsets.html
SPECS=build/demo/specs/my_protocol

cat <<'TEXT'
kipwire's demo, on data of a real cluster in the repo:
  1. install what it needs into build/demo/venv, if that is missing: neither Java nor Spark
  2. generate classes from a spec, and write and read a message with them
  3. decode 2,186 frames of real clients and brokers, encode them again and compare the bytes
  4. read the brokers' log segments, and write a page on what the consumer groups did

TEXT

echo "1. Set-up"
bash scripts/small_venv.sh "$VENV" generator jobs
"$BIN/kipwire" --version

printf '\n2. A protocol of your own\n'
[ -d "$SPECS" ] || "$BIN/kipgen" new Ping --out "$SPECS"
"$BIN/kipgen" generate "$SPECS" --out build/demo | sed '/^$/d'
PYTHONPATH=build/demo "$BIN/python" - <<'PROGRAM'
from my_protocol.ping_request.v0 import Item, PingRequest

ping = PingRequest(key="payments", items=[Item(name="orders", numbers=[0, 1])])
data = ping.encode()
assert PingRequest.decode(data) == ping
print(f"{len(data)} bytes: {data.hex(' ')}\n{ping}")
PROGRAM

printf '\n3. Frames\n'
"$BIN/python" examples/decode_capture.py

printf '\n4. Consumer groups\n'
"$BIN/kipwire" offsets --html "$PAGE"

cat <<TEXT

What to open next:
  $PAGE
      commits, lag over time and members of the groups, with charts
  $BIN/python examples/decode_capture.py --all
      a line for every frame
  $BIN/kipwire inspect HeartbeatResponse 4 00000000001900
      every byte of a message, explained
  $SPECS
      your own protocol: change it, and run $BIN/kipgen generate $SPECS --out build/demo
  make demo-spark
      the same jobs on Spark, and a comparison of all rows
TEXT
