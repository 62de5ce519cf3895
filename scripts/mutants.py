"""Change code in one small way at a time, and see if its tests notice: a mutant that survives may be a missing test.

    python scripts/mutants.py [AREA]... [--each 3] [--seed 0] [--at FILE[:LINE]]...

Of each module of the areas (of all, if none is given) some mutants are drawn; a seed draws the same ones of the same
code. Each is judged in a copy of the working tree by the tests that AREAS gives its area, and is a line of the output:
its place, the code before and after, and the test that killed it, or that it survived. Tests that do not end kill it,
too. With --at all mutants of a file or of a line are judged. Exit status 1 if tests fail without any mutant.

Libraries do less here: mutmut 3 changes nothing outside of functions, and has one choice of tests, which it runs in its
own process; cosmic-ray removes no statements, moves no borders of slices, swaps no arguments, and works on the tree
itself. Neither draws some mutants of each module by a seed.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("generated", "generator", "pipeline", "runtime")
MOST_MEMORY = 4 << 20
"""KiB of addresses that tests may use: some mutants would fill the memory."""
SPARE_SECONDS = 20.0
"""Limit for the tests of a mutant, beyond five times their usual time; a busy machine may stop for a while."""


@dataclass(frozen=True)
class Area:
    """Modules, and the fast tests that protect them."""

    modules: str
    """Patterns of their paths."""
    tests: str
    """Patterns of paths, of tests without the compiled kernel, which does what many modules do. The tests of each
    pattern are a run of their own, since quick ones notice most mutants."""
    native_tests: str = ""
    """Patterns of tests with the compiled kernel."""
    check: str = ""
    """Arguments of Python, for a check that comes after the tests."""


AREAS = {
    "codec": Area(
        "runtime/kipwire/codec/*.py",
        "tests/runtime/test_generated_[es]*.py tests/runtime/test_[ce]*.py tests/runtime/golden/test_golden_[mn]*.py"
        " tests/runtime/test_generated_[ft]*.py tests/records/test_records_[egw]*.py tests/runtime/test_r*.py"
        " tests/runtime/layouts",
    ),
    "resolve": Area(
        "generator/kipgen/resolve/*.py",
        "tests/generator/spec/test_[act]*.py tests/generator/package/test_s*.py"
        " tests/generator/spec/test_spec_layouts.py tests/runtime/test_generated_[ft]*.py tests/runtime/layouts",
        check="-m kipgen generate --check",
    ),
    "records": Area(
        "runtime/kipwire/records/*.py",
        "tests/records/test_records_[egw]*.py tests/records/test_con*.py tests/records/test_records_[!egw]*.py"
        " tests/records/test_[or][pe][tb]*.py tests/records/test_ch*.py tests/drafts/test_kip_98.py",
        native_tests="tests/kernel/test_native_[bu]*.py",
    ),
    "logs": Area("runtime/kipwire/logs/*.py", "tests/logs", native_tests="tests/tables/sources/test_batch_rows.py"),
    "kafka_log": Area(
        "runtime/kipwire/tables/sources/log_[rc]*.py runtime/kipwire/tables/sources/batch_*.py"
        " runtime/kipwire/tables/sources/s[pe]*s.py runtime/kipwire/tables/sources/changing_logs/*.py",
        tests="",
        native_tests="tests/tables/sources/test_batch_rows.py tests/tables/sources/test_streams.py"
        " tests/tables/sources/test_[dlm]*.py tests/tables/messages/test_column_order.py"
        " tests/pipeline/sources/test_progress.py tests/tables/sources/test_changing_logs.py",
    ),
}


@dataclass(frozen=True)
class Mutant:
    """A change of a module: other text in place of some of its bytes."""

    path: str
    line: int
    start: int
    end: int
    text: str

    def place(self) -> tuple[int, int, str]:
        """Return its order in the module."""
        return self.start, self.end, self.text

    def of(self, source: bytes) -> bytes:
        """Apply the change to the module."""
        return source[: self.start] + self.text.encode() + source[self.end :]

    def describe(self, source: bytes) -> str:
        """Format its place, and the line before and after."""
        head = source.rfind(b"\n", 0, self.start) + 1
        tail = (source + b"\n").find(b"\n", self.end)
        before, changed = source[head:tail], self.of(source)
        after = changed[head : tail + len(changed) - len(source)]
        return f"{self.path}:{self.line}: {_one_line(before)}  ->  {_one_line(after)}"


def _one_line(code: bytes) -> str:
    return " ".join(code.decode().split())


# What changes.

OTHER = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"), ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "//"), ast.Mod: ("%", "//"),
    ast.FloorDiv: ("//", "*"), ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"), ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"), ast.BitXor: ("^", "|"), ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip
"""The sign of an operator, and another one."""
OTHER_FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}
NO_CODE = ("annotation", "returns", "decorator_list", "ctx", "type_comment")
"""Parts of a node that no program runs, or that say what a function is."""


def mutants_of(path: str, source: bytes) -> list[Mutant]:
    """Return all mutants of a module that compile, in the order of the code."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(source)
    stored = Counter(one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
    stored.update(one.arg for one in ast.walk(tree) if isinstance(one, ast.arg))

    def first(node: ast.expr | ast.stmt) -> int:
        return starts[node.lineno - 1] + node.col_offset

    def last(node: ast.expr | ast.stmt) -> int:
        return starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)

    def text(node: ast.expr | ast.stmt) -> str:
        return source[first(node) : last(node)].decode()

    def put(node: ast.expr | ast.stmt, *texts: str) -> Iterator[tuple[int, int, str]]:
        for one in texts:
            yield first(node), last(node), one

    def other(operator: ast.AST, left: ast.expr, right: ast.expr) -> Iterator[tuple[int, int, str]]:
        """Another operator between two operands."""
        if type(operator) in OTHER:
            sign, instead = OTHER[type(operator)]
            at = source.find(sign.encode(), last(left), first(right))
            yield at, at + len(sign), instead

    def changes(node: ast.AST) -> Iterator[tuple[int, int, str]]:
        """Yield the ranges of bytes to replace, and their replacements."""
        match node:
            case ast.Compare():
                for left, operator, right in zip(
                    [node.left, *node.comparators], node.ops, node.comparators, strict=False
                ):
                    yield from other(operator, left, right)
            case ast.BoolOp():
                for left, right in zip(node.values, node.values[1:], strict=False):
                    yield from other(node.op, left, right)
            case ast.BinOp():
                yield from other(node.op, node.left, node.right)
            case ast.AugAssign():
                yield from other(node.op, node.target, node.value)
                yield from put(node, "pass")
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
                yield from put(node, f"({text(operand)})")
            case ast.Constant(value=bool()):
                yield from put(node, str(not node.value))
            case ast.Constant(value=int(number)):
                yield from put(node, str(number + 1), str(number - 1))
            case ast.Slice():
                for bound in filter(None, (node.lower, node.upper)):
                    yield from put(bound, "", *[f"{text(bound)} + 1"] * (not isinstance(bound, ast.Constant)))
            case ast.If() | ast.IfExp():
                yield from put(node.test, "True", "False")
            case ast.While():
                yield from put(node.test, "False")
            case ast.comprehension():
                for condition in node.ifs:
                    yield from put(condition, "True")
            case ast.Call(func=ast.Name(id=name)) if name in OTHER_FUNCTIONS:
                yield from put(node.func, OTHER_FUNCTIONS[name])
            case ast.Call(args=[left, right, *_]) if not isinstance(right, ast.Starred):
                yield first(left), last(right), f"{text(right)}, {text(left)}"
            case ast.Raise() | ast.Delete() | ast.Break() | ast.Continue() | ast.Return(value=ast.expr()):
                yield from put(node, "pass")
            case ast.Expr(value=ast.Call()):
                yield from put(node, "pass")
            case ast.Assign(targets=[target]):
                if not isinstance(target, ast.Name) or stored[target.id] > 1:  # else the next line fails in any test
                    yield from put(node, "pass")

    found = []
    for node in _code(tree):
        for start, end, instead in changes(node):
            if source[start:end] == instead.encode():
                continue
            mutant = Mutant(path, source.count(b"\n", 0, start) + 1, start, end, instead)
            with suppress(SyntaxError):
                ast.parse(mutant.of(source))
                found.append(mutant)
    return sorted(set(found), key=Mutant.place)


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of executed code, except nodes within f-strings, whose places Python 3.11 does not have."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if name in NO_CODE or not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr | ast.Assert):
                continue
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            yield child
            yield from _code(child)


# How tests judge.


def copy_of_tree(folder: Path) -> Path:
    """Copy the files that git tracks or would add, and the compiled kernel."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    kernels = [str(path.relative_to(ROOT)) for path in (ROOT / "runtime/kipwire").glob("_kernel*")]
    for name in filter(None, [*names, *kernels]):
        if os.path.lexists(ROOT / name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    return folder


def draw_mutants(tree: Path, area: Area, each: int, seed: int, at: list[str]) -> list[Mutant]:
    """Return the mutants of an area to judge: some of each module, or all at the given places."""
    found: list[Mutant] = []
    for path in sorted({path for pattern in area.modules.split() for path in tree.glob(pattern)}):
        name = str(path.relative_to(tree))
        mutants = mutants_of(name, path.read_bytes())
        if at:
            found += [one for one in mutants if name in at or f"{name}:{one.line}" in at]
        else:
            found += sorted(Random(f"{seed} {name}").sample(mutants, min(each, len(mutants))), key=Mutant.place)
    return found


def run_tests(tree: Path, area: Area, seconds: float) -> str | None:
    """Run an area's tests in a tree; return the first failure, or None if they pass."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(tree / source) for source in SOURCES),
        "PYTHONDONTWRITEBYTECODE": "",  # modules are many, and only the mutant's changes
    }
    pytest = ["-m", "pytest", "-n0", "-x", "-q", "--tb=no", "-pno:cacheprovider", "--hypothesis-seed=0"]
    runs = [
        (kernel, [*pytest, *map(str, sorted(tree.glob(pattern)))])
        for kernel, tests in (("0", area.tests), ("1", area.native_tests))
        for pattern in tests.split()
    ]
    end = time.monotonic() + seconds
    for kernel, arguments in [*runs, *[("1", area.check.split())] * bool(area.check)]:
        shutil.rmtree(tree / ".hypothesis", ignore_errors=True)  # examples of other mutants
        environment["KIPWIRE_NATIVE"] = kernel
        command = ["bash", "-c", f'ulimit -v {MOST_MEMORY}; exec "$@"', "bash", sys.executable, *arguments]
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            process = subprocess.Popen(
                command, cwd=tree, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True,
            )  # fmt: skip
            try:
                status = process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                return "a time-out"
            finally:
                with suppress(ProcessLookupError):  # with all that the tests have started
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            output.seek(0)
            said = output.read()
        if status:
            failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", said, re.MULTILINE)
            return failed[1] if failed else " ".join(["python", *arguments[:4], "...", *said.split()[-8:]])
    return None


def judge(tree: Path, area: Area, mutant: Mutant, seconds: float) -> str | None:
    """Test a mutant, which is in the tree only meanwhile; return the test that kills it, or None if it survives."""
    module = tree / mutant.path
    source, compiled = module.read_bytes(), Path(cache_from_source(str(module)))
    try:
        module.write_bytes(mutant.of(source))
        compiled.unlink(missing_ok=True)  # it goes by the size and the second of the change
        return run_tests(tree, area, seconds)
    finally:
        module.write_bytes(source)
        compiled.unlink(missing_ok=True)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"one of {', '.join(AREAS)} (default: all)")
    parser.add_argument("--each", type=int, default=3, help="mutants to draw of each module (default: 3)")
    parser.add_argument("--seed", type=int, default=0, help="draws others (default: 0)")
    parser.add_argument("--at", action="append", default=[], metavar="FILE[:LINE]", help="judge all mutants there")
    options = parser.parse_args(arguments)
    if unknown := set(options.areas) - set(AREAS):
        parser.error(f"no area {', '.join(sorted(unknown))}; there are {', '.join(AREAS)}")
    survivors, count = [], 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = copy_of_tree(Path(folder))
        for name in options.areas or AREAS:
            area, began = AREAS[name], time.monotonic()
            mutants = draw_mutants(tree, area, options.each, options.seed, options.at)
            if mutants and (failed := run_tests(tree, area, seconds=3600)):
                print(f"{name}: {failed} fails without any mutant", file=sys.stderr)
                return 1
            usual = time.monotonic() - began
            print(f"{name}: {len(mutants)} mutants; the tests take {usual:.0f} s without any", flush=True)
            for mutant in mutants:
                killer = judge(tree, area, mutant, seconds=5 * usual + SPARE_SECONDS)
                described = mutant.describe((tree / mutant.path).read_bytes())
                print(f"{described}  {f'killed by {killer}' if killer else 'SURVIVED'}", flush=True)
                survivors += [] if killer else [described]
            count += len(mutants)
    print(f"{count} mutants, {len(survivors)} survived", *survivors, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
