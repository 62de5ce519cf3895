#!/usr/bin/env bash
# Prints the home of a Java that Spark runs on (17 or newer), for JAVA_HOME; installs one if there is none.
set -euo pipefail

OLDEST=17
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/kipwire/java

is_new_enough() {
    local version
    version=$("$1/bin/java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p')
    [ -n "$version" ] && [ "$version" -ge "$OLDEST" ]
}

find_java() {
    local java candidate
    java=$(command -v java || true)
    for candidate in "${JAVA_HOME:-}" "${java:+$(dirname "$(dirname "$(readlink -f "$java")")")}" /usr/lib/jvm/* "$CACHE"/*; do
        if [ -n "$candidate" ] && [ -x "$candidate/bin/java" ] && is_new_enough "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

download() {
    local system machine
    case $(uname -s) in Linux) system=linux ;; *) return 1 ;; esac
    case $(uname -m) in x86_64) machine=x64 ;; aarch64 | arm64) machine=aarch64 ;; *) return 1 ;; esac
    echo "Spark needs Java $OLDEST; downloading Eclipse Temurin into $CACHE" >&2
    mkdir -p "$CACHE"
    curl -fsSL "https://api.adoptium.net/v3/binary/latest/$OLDEST/ga/$system/$machine/jre/hotspot/normal/eclipse" |
        tar -xz -C "$CACHE"
}

find_java && exit
{ bash "$(dirname "$0")/install.sh" "openjdk-$OLDEST-jre-headless" "Spark needs Java $OLDEST" || download; } && find_java && exit
echo "Spark needs Java $OLDEST or newer: install one, or set JAVA_HOME to where one is" >&2
exit 2
