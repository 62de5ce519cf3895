"""The options that all benchmarks have: `--smoke`, with which `make bench-smoke` tries each of them."""

from __future__ import annotations

import argparse


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """Return the parser of a benchmark, described by the first line of its module."""
    found = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    found.add_argument(
        "--smoke",
        action="store_true",
        help="as little as shows that it runs, beside the peers that are installed; writes no file",
    )
    return found


def parsed(options: argparse.ArgumentParser, **little: object) -> argparse.Namespace:
    """Parse the command line; with --smoke, `little` has the defaults of the other options."""
    found = options.parse_args()
    if found.smoke:
        options.set_defaults(**little)
        found = options.parse_args()
    return found
