#!/usr/bin/env bash
# Makes sure that there is a Maven; installs one if there is none.
set -euo pipefail

command -v mvn >/dev/null && exit
bash "$(dirname "$0")/install.sh" maven "Kafka's jars are fetched by Maven" && command -v mvn >/dev/null && exit
echo "Kafka's jars are fetched by Maven, mvn, which is not here: install it, such as with apt-get install maven" >&2
exit 2
