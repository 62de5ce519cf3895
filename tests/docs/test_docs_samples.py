"""Every sample in the README and the guides runs, and every session prints the output that the page shows."""

from __future__ import annotations

import shutil
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.support.docs_samples import PAGES, RUN, SHOWN, Sample, run, samples
from tests.support.places import ROOT


def samples_of(page: str) -> list[Sample]:
    return samples(page, (ROOT / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [page for page in PAGES if any(one.is_run for one in samples_of(page))])
def test_the_samples_of_a_page_run(page: str, tmp_path: Path) -> None:
    for folder in ("schemas", "examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    before: list[Sample] = []
    for sample, following in zip_longest(shown := samples_of(page), shown[1:]):
        # Python samples without anything between them run in one process, with the last; tracebacks name their lines.
        is_last = following is None or following.language != "python" or not following.is_run
        if sample.is_run and (sample.language != "python" or is_last):
            assert run(sample, before, tmp_path) == "", f"{page}:{sample.line}"
        before.append(sample)


@pytest.mark.parametrize("page", PAGES)
def test_a_sample_is_run_or_says_why_not(page: str) -> None:
    for sample in samples_of(page):
        assert sample.language in (*RUN, *SHOWN), f"{page}:{sample.line}: {sample.language!r} would not be run"
        assert "# not run" not in sample.code, f"{page}:{sample.line}: say why in a comment before it"


@pytest.mark.parametrize(
    ("language", "code", "said"),
    [
        ("python", "assert 1 == 2", "line 2, in <module>\n    assert 1 == 2"),
        ("python", "import warnings; warnings.warn('old')", "UserWarning: old"),
        ("sh", "true\nfalse\ntrue", "exit status 1"),
        ("sh", "kipgen check missing", "missing"),
        ("console", "$ echo a\nb", "said:\na"),
        ("console", "$ exit 3\n", "ended early"),
        ("console", "$ false\n$ echo $?\n0\n", "said:\n1"),
    ],
)
def test_a_sample_that_fails_is_noticed(language: str, code: str, said: str, tmp_path: Path) -> None:
    (sample,) = samples("page.md", f"```{language}\n{code}\n```\n")
    assert said in run(sample, [], tmp_path)


def test_a_sample_that_is_not_run_has_its_reason_in_a_comment() -> None:
    first, second = samples("page.md", "<!-- not run: needs a broker -->\n```sh\nfalse\n```\n\n```sh\ntrue\n```\n")
    assert (first.is_run, first.reason, first.line) == (False, "needs a broker", 3)
    assert (second.is_run, second.reason, second.line) == (True, "", 7)


def test_the_line_of_a_sample_before_is_in_the_traceback(tmp_path: Path) -> None:
    first, second = samples("page.md", "```python\na = 1\nassert a == 2\n```\n\n```python\nprint(a)\n```\n")
    assert "line 3, in <module>\n    assert a == 2" in run(second, [first], tmp_path)


def test_samples_of_a_page_share_names_and_files(tmp_path: Path) -> None:
    text = (
        "```python\nimport pathlib\na = 1\n```\n\n```sh\necho 2 > b\n```\n\n"
        "```python\nassert int(pathlib.Path('b').read_text()) == a + 1\n```\n"
    )
    found = samples("page.md", text)
    assert [sample.line for sample in found] == [2, 7, 11]
    assert run(found[1], found[:1], tmp_path) == ""
    assert run(found[2], found[:2], tmp_path) == ""
