#!/usr/bin/env bash
# Checks that Maven is installed; installs it if not.
set -euo pipefail

command -v mvn >/dev/null && exit
bash "$(dirname "$0")/install.sh" maven "Maven fetches Kafka's jars" && command -v mvn >/dev/null && exit
echo "Maven (mvn) fetches Kafka's jars, and is not installed: install it, for example with apt-get install maven" >&2
exit 2
