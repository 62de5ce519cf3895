# kipwire: the tasks of development. "make" lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CODE := generator runtime pipeline tests benchmarks examples scripts conformance docs/site docs/browser hatch_build.py
KERNEL := scripts/build_native.py $(wildcard runtime/kernel/*)
FUZZ_SECONDS ?= 60
EACH ?= 3
SEED ?= 0

# Compiled modules are kept, whatever the caller's environment says: hundreds of processes import them.
export PYTHONDONTWRITEBYTECODE :=

BENCHES := bench bench-quick bench-records bench-dump bench-tap bench-encodings bench-headers bench-space bench-columns bench-tables bench-spark \
	bench-projection bench-aio bench-proxy bench-adapter bench-wireshark bench-hostile

.DEFAULT_GOAL := help
.PHONY: help setup native generate check-generated check-compat test test-night test-pure test-thorough test-maven smoke night night-steps night-targets fuzz-build fuzz-native mutants lint types mypy pyright \
	$(BENCHES) bench-smoke \
	demo demo-spark docs browser test-browser wireshark conformance broker broker-stop test-broker test-cluster test-spark-releases lock wheels clean

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

setup: $(VENV)/.ready $(VENV)/.native  ## Make .venv with everything that development needs

$(VENV)/.ready: pyproject.toml requirements-dev.lock scripts/setup.sh
	@PYTHON=$(PYTHON) VENV=$(VENV) bash scripts/setup.sh
	@touch $@

native: setup  ## Build the compiled kernel; "make setup" does it too, but goes on without if it fails: this shows why
	@$(BIN)/python scripts/build_native.py

$(VENV)/.native: $(VENV)/.ready $(KERNEL)
	@$(BIN)/python scripts/build_native.py >/dev/null 2>$(VENV)/native.log \
		|| echo "Going without the compiled kernel: $$(tail -n 1 $(VENV)/native.log)"
	@touch $@

generate: setup  ## Generate the classes from the specs; only what changed
	$(BIN)/kipgen generate

check-generated: setup  ## Fail if the generated classes are not what the specs say; generates all of them again to compare
	$(BIN)/kipgen check --strict
	$(BIN)/kipgen generate --check

check-compat: setup  ## Fail if the specs break peers of the latest release, or of the commit that this work starts from
	@KIPGEN=$(BIN)/kipgen bash scripts/compat.sh

test: setup  ## Run the tests, on all cores; with the compiled kernel where it is built
	JAVA_HOME="$$(bash scripts/java.sh)" $(BIN)/pytest

test-night: setup  ## Run the tests that take longer, most of them with Spark
	JAVA_HOME="$$(bash scripts/java.sh)" $(BIN)/pytest -m night

test-pure: setup  ## Run what "make test" runs, without the compiled kernel
	JAVA_HOME="$$(bash scripts/java.sh)" KIPWIRE_NATIVE=0 $(BIN)/pytest

test-thorough: setup  ## Run what "make test" runs, with all cases where it tries a part of them
	JAVA_HOME="$$(bash scripts/java.sh)" KIPWIRE_TESTS=thorough $(BIN)/pytest

smoke: setup  ## Try a little of what "make night" runs: plain Python, Spark, a broker, Maven, a cluster, each fuzz target for 5 s
	KIPWIRE_NATIVE=0 $(BIN)/pytest tests/runtime/golden
	@bash scripts/maven.sh
	@JAVA_HOME="$$(bash scripts/java.sh)" bash scripts/broker/broker.sh with $(BIN)/pytest -m 'smoke or every_spark' -n 0
	@$(MAKE) fuzz-native FUZZ_SECONDS=5

night: setup  ## Run all that .ci/run leaves out, or only tries: an hour at most
	@$(MAKE) --jobs=2 --keep-going --output-sync night-steps

# What waits, for a broker, for clusters and for the network, runs beside what computes.
night-steps: test-night test-broker test-thorough test-pure test-cluster fuzz-native test-maven test-spark-releases test-browser

# Beside "make night", not in it, so that each takes an hour at most.
night-targets: setup  ## Run the targets that are no tests: demos, wheels, conformance, some mutants, every benchmark for a second
	@$(MAKE) --keep-going demo demo-spark wireshark bench-smoke conformance wheels mutants AREAS=codec EACH=1

broker:  ## Start a Kafka broker on loopback, for tests; its data goes to build/broker, its jars to the user's cache
	@bash scripts/broker/broker.sh start

broker-stop:  ## Stop it
	@bash scripts/broker/broker.sh stop

test-broker: setup  ## Run the pipeline against a broker that is started for it, with real clients
	@bash scripts/broker/broker.sh with $(BIN)/pytest -m broker -n 0

test-cluster: setup  ## Run the pipeline on a cluster and a Spark Connect server whose workers only have its wheel
	@JAVA_HOME="$$(bash scripts/java.sh)" $(BIN)/pytest -m cluster -n 0

test-spark-releases: setup  ## Run a few tests of the pipeline with each older Spark that is supported, installed into build/
	@JAVA_HOME="$$(bash scripts/java.sh)" $(BIN)/pytest -m spark_releases -n 0

fuzz-build: setup  ## Build what fuzz-native runs: the kernel with AddressSanitizer, and packages of its own
	@VENV=$(VENV) CC="$(CC)" bash scripts/fuzz.sh build

fuzz-native: setup  ## Run the kernel under AddressSanitizer on damaged and hostile input, each target for FUZZ_SECONDS
	@VENV=$(VENV) FUZZ_SECONDS=$(FUZZ_SECONDS) CC="$(CC)" bash scripts/fuzz.sh

test-browser: setup browser  ## Drive the page of "make browser" in Chromium, and run all golden data in its CPython 3.14 in Node
	$(BIN)/pytest -m browser -n 0

test-maven: setup  ## Run the tests that need mvn and a network, such as those on releases of Kafka
	@bash scripts/maven.sh
	JAVA_HOME="$$(bash scripts/java.sh)" $(BIN)/pytest -m maven -n 0

mutants: setup  ## Change code in small ways, and list the changes that no test notices; AREAS, EACH and SEED choose
	@$(BIN)/python scripts/mutants.py $(AREAS) --each $(EACH) --seed $(SEED)

lint: setup  ## Check style and format of all code, and that its layers import in one direction
	$(BIN)/ruff check $(CODE)
	$(BIN)/black --check --quiet $(CODE) generated
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/words.py $(CODE)

types: mypy pyright  ## Check the types of all code, by mypy and by pyright; both must refuse all wrong uses

mypy: setup
	$(BIN)/mypy

pyright: setup
	$(BIN)/pyright

demo:  ## On shipped data: your own protocol, a capture decoded and encoded, a page on consumer groups; no Java, no Spark
	@PYTHON=$(PYTHON) bash scripts/demo.sh

demo-spark: setup  ## The jobs in the process and on Spark, on the samples; all rows are compared
	@VENV=$(VENV) bash scripts/demo_spark.sh

bench: setup  ## Measure beside peers in Python, Java, Rust and Go; writes benchmarks/RESULTS.md and its plots
	$(BIN)/python -m benchmarks.compare $(BENCH)

bench-quick: setup  ## The same with only the Python peers, in under a minute; writes nothing
	$(BIN)/python -m benchmarks.compare --quick $(BENCH)

bench-records: setup  ## Decode and encode record batches beside kafka-python and aiokafka
	$(BIN)/python -m benchmarks.records $(BENCH)

bench-dump: setup  ## kipwire dump beside kafka-dump-log on a gigabyte of log: time, processor time and memory
	@bash scripts/maven.sh
	JAVA_HOME="$$(bash scripts/java.sh)" $(BIN)/python -m benchmarks.dumped $(BENCH)

bench-tap: setup  ## kipwire tap beside tshark on two gigabytes of packets: time, processor time and memory; needs tshark
	$(BIN)/python -m benchmarks.tapped $(BENCH)

bench-wireshark: wireshark  ## The Wireshark dissector beside tshark's own on 100 MiB: processor time, memory; needs tshark
	$(BIN)/python -m benchmarks.dissected $(BENCH)

bench-spark: setup  ## The pipeline beside from_avro, plain UDFs and Kafka's tool, a gigabyte of log, and the job offsets
	@bash scripts/maven.sh
	JAVA_HOME="$$(bash scripts/java.sh)" $(BIN)/python -m benchmarks.spark $(BENCH)

bench-columns: setup  ## Times of decoding to Arrow columns and back, beside rows
	$(BIN)/python -m benchmarks.columns $(BENCH)

bench-tables: setup  ## A topic as a table beside Parquet, in polars and DuckDB: processor time and memory
	$(BIN)/python -m benchmarks.tables $(BENCH)

bench-encodings: setup  ## Sizes and times of KIP-625's encodings, beside the table of its text
	$(BIN)/python -m benchmarks.encodings $(BENCH)

bench-headers: setup  ## Times of reading low header keys of a KIP-82 message, beside decoding all of it
	$(BIN)/python -m benchmarks.low_headers $(BENCH)

bench-space: setup  ## What message formats add to a batch, beside the draft of KIP-98; frames of all 0.8 alternatives
	$(BIN)/python -m benchmarks.space $(BENCH)

bench-projection: setup  ## Read and replace two fields of a message, beside all of them, Rust and Go
	$(BIN)/python -m benchmarks.chosen_fields $(BENCH)

bench-aio: setup  ## Requests over one connection beside those of aiokafka and kafka-python: time and processor time
	$(BIN)/python -m benchmarks.connections $(BENCH)

bench-proxy: setup  ## The proxy's processor time between clients and a broker, and its latency, beside other proxies
	@BROKER_SENDS_TO=$${BROKER_SENDS_TO:-19096} bash scripts/broker/broker.sh with $(BIN)/python -m benchmarks.proxied $(BENCH)

bench-adapter: setup  ## aiokafka's processor time with its own protocol code and with kipwire's, beside each other
	@bash scripts/broker/broker.sh with $(BIN)/python -m benchmarks.adapted $(BENCH)

bench-hostile: setup  ## Costs of the worst hostile input: memory and processor time for a byte
	$(BIN)/python -m benchmarks.hostile $(BENCH)

bench-smoke: setup  ## Run every benchmark for about a second, to see that it runs; Spark's takes minutes. Writes no file
	@$(MAKE) --keep-going $(BENCHES) BENCH=--smoke
	$(BIN)/python -m benchmarks.compare --beside . --smoke

wireshark: setup  ## Write a dissector for Wireshark, of all of Kafka's APIs and versions: build/wireshark/kipwire_kafka.lua
	$(BIN)/kipgen resolve schemas/kafka_messages --out build/wireshark/kafka.json
	$(BIN)/kipgen resolve schemas/kafka_records --out build/wireshark/records.json
	$(BIN)/python examples/wireshark/dissector.py build/wireshark/kafka.json --records build/wireshark/records.json \
		--name kipwire_kafka --label Kafka --out build/wireshark/kipwire_kafka.lua

conformance: setup  ## Ask libraries in Python, Java, Go and Rust what they make of Kafka's bytes; writes docs/conformance.md, conformance/RESULTS.md
	@bash conformance/build.sh
	$(BIN)/python conformance/run.py

browser:  ## Write the page "Bytes in the browser" to build/browser, for any server of files; needs Node with npm
	@PYTHON=$(PYTHON) bash scripts/small_venv.sh build/docs-venv generator console jobs testing docs
	build/docs-venv/bin/python -m docs.browser build/browser build/browser-downloads

docs: browser  ## Build the documentation site: build/docs/html/index.html; installs what that needs, and no Spark
	@PYTHON=$(PYTHON) bash scripts/small_venv.sh build/docs-venv generator console jobs testing docs
	build/docs-venv/bin/python -m docs.site build/docs
	cp -r build/browser build/docs/pages/browser
	NO_MKDOCS_2_WARNING=1 build/docs-venv/bin/mkdocs build --strict --config-file build/docs/mkdocs.yml
	build/docs-venv/bin/python -m docs.site.built build/docs/html
	@echo "open build/docs/html/index.html"

lock: setup  ## Renew requirements-dev.lock, the versions that "make setup" installs, within the bounds of pyproject.toml
	$(BIN)/uv pip compile --quiet --generate-hashes $(if $(UPGRADE),--upgrade) --universal --python-version 3.11 --all-extras \
		--group dev --group docs --group lock --group bench --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
		--output-file requirements-dev.lock pyproject.toml

wheels: setup  ## Build what a release has into dist/, for each Python here, and test each wheel where nothing else is
	$(BIN)/python scripts/wheels.py

clean:  ## Remove .venv and everything else that tools have made
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
