#!/usr/bin/env bash
# Fails where the specs break what peers may have: those of the latest release, or else of the commit that this work
# starts from. "make check-compat" runs it; COMPAT_BASE names another revision. Accepted findings: compat-allow.toml.
set -euo pipefail
KIPGEN=${KIPGEN:-.venv/bin/kipgen}

# The revision to compare with, and why it is that one.
base() {
    local head fork
    if [ -n "${COMPAT_BASE:-}" ]; then
        echo "$COMPAT_BASE as COMPAT_BASE says"
    elif git describe --tags --abbrev=0 --match 'v[0-9]*' HEAD^ 2>/dev/null; then
        :
    else
        head=$(git rev-parse HEAD)
        for main in origin/main main; do
            fork=$(git merge-base HEAD "$main" 2>/dev/null || true)
            if [ -n "$fork" ] && [ "$fork" != "$head" ]; then
                echo "$fork where this branch leaves $main"
                return
            fi
        done
        if git rev-parse --verify --quiet HEAD^ >/dev/null; then
            echo "HEAD^ the commit before"
        else
            echo "HEAD since this clone has no commit before it: only what is not committed is compared"
        fi
    fi
}

if ! git rev-parse --verify --quiet HEAD >/dev/null 2>&1; then
    echo "No commit of git here, so the specs are compared with nothing."
    exit 0
fi
read -r revision why <<<"$(base)"
echo "Compared with $revision: ${why:-the latest release}."
# Changes of code alone are for the changelog; those of bytes break peers.
exec "$KIPGEN" compat --against "$revision" --wire-only
