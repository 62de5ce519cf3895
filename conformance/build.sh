#!/usr/bin/env bash
# Builds the adapters that need it into build/conformance: those whose tools are here. Says which are left out.
set -uo pipefail
cd "$(dirname "$0")/.."
out="$PWD/build/conformance"
mkdir -p "$out"

left_out() { echo "left out: $1, since $2" >&2; }

if command -v go >/dev/null; then
    # sarama's codecs are private: a copy of it gets a file that calls them.
    source="$out/sarama-source"
    (
        cd conformance/go && go mod download \
            && rm -rf "$source" && cp -r "$(go list -m -f '{{.Dir}}' github.com/IBM/sarama)" "$source" && chmod -R u+w "$source" \
            && cp sarama/export/export.go "$source/conform_export.go" && cp go.mod "$out/go.mod" && cp go.sum "$out/go.sum" \
            && echo "replace github.com/IBM/sarama => $source" >>"$out/go.mod" \
            && go build -o "$out/kmsg" ./kmsg && go build -modfile "$out/go.mod" -o "$out/sarama" ./sarama
    ) || left_out "kmsg and sarama" "they cannot be built"
else
    left_out "kmsg and sarama" "there is no go"
fi
if command -v cargo >/dev/null; then
    (cd conformance/rust && CARGO_TARGET_DIR="$out/rust" cargo build --quiet --release --locked) \
        && cp "$out/rust/release/kipwire-conformance" "$out/kafka-protocol" || left_out kafka-protocol-rs "it cannot be built"
else
    left_out kafka-protocol-rs "there is no cargo"
fi
if command -v mvn >/dev/null; then
    (cd conformance/java && mvn --quiet --batch-mode dependency:copy-dependencies -DincludeScope=runtime "-DoutputDirectory=$out/java") \
        || left_out kafka-clients "its jars cannot be fetched"
else
    left_out kafka-clients "there is no mvn"
fi
