#!/usr/bin/env bash
# Prints the home of a Java for Spark (17 or newer), for JAVA_HOME; installs one if there is none.
set -euo pipefail

OLDEST=17
# What is downloaded if Debian's package is not available; the checksums below are its publisher's.
RELEASE=jdk-17.0.12+7
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

download() (
    case $(uname -s) in Linux) ;; *) exit 1 ;; esac
    case $(uname -m) in
    x86_64) machine=x64 sum=0e8088d7a3a7496faba7ac8787db09dc0264c2bc6f568ea8024fd775a783e13c ;;
    aarch64 | arm64) machine=aarch64 sum=9dfe4c56463690ae67d22268980d8861eb46b907d7914f8f2e6fc7b25778c8ec ;;
    *) exit 1 ;;
    esac
    echo "Spark needs Java $OLDEST; downloading Eclipse Temurin $RELEASE into $CACHE" >&2
    mkdir -p "$CACHE"
    work=$(mktemp -d "$CACHE/.download-XXXXXX") || exit 1
    trap 'rm -rf "$work"' EXIT
    curl -fsSL --proto '=https' --proto-redir '=https' -o "$work/java.tar.gz" \
        "https://api.adoptium.net/v3/binary/version/$RELEASE/linux/$machine/jre/hotspot/normal/eclipse" || exit 1
    if ! echo "$sum  $work/java.tar.gz" | sha256sum --check --status; then
        echo "The download is not Eclipse Temurin $RELEASE: its SHA-256 is not $sum" >&2
        exit 1
    fi
    mkdir "$work/unpacked"
    tar -xzf "$work/java.tar.gz" -C "$work/unpacked" --no-same-owner || exit 1
    mv "$work/unpacked"/* "$CACHE/"
)

find_java && exit
{ bash "$(dirname "$0")/install.sh" "openjdk-$OLDEST-jre-headless" "Spark needs Java $OLDEST" || download; } && find_java && exit
echo "Spark needs Java $OLDEST or newer: install one, or set JAVA_HOME to its folder" >&2
exit 2
