#!/usr/bin/env bash
# Fails where the specs break what peers may have: those of the latest release, or else of the commit that this work
# starts from. "make check-compat" runs it; COMPAT_BASE names another revision. On the main branch, before any release,
# COMPAT_BEFORE names what it had before a push, which may be of several commits. Accepted findings: compat-allow.toml.
set -euo pipefail
KIPGEN=${KIPGEN:-.venv/bin/kipgen}

# A push that rewrites history, or makes a branch (Git then says 000...), leaves nothing to compare with.
is_before_head() {
    [ -n "$1" ] && [ "$(git rev-parse "$1^{commit}" 2>/dev/null)" != "$(git rev-parse HEAD)" ] &&
        git merge-base --is-ancestor "$1" HEAD 2>/dev/null
}

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
        if is_before_head "${COMPAT_BEFORE:-}"; then
            echo "$COMPAT_BEFORE as it was before the push"
        elif git rev-parse --verify --quiet HEAD^ >/dev/null; then
            echo "HEAD^ the commit before${COMPAT_BEFORE:+, since $COMPAT_BEFORE is no commit before this one}"
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
