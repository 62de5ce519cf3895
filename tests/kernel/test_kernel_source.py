"""The kernel's sources keep the rules at the head of _kernel.pyx, as far as a text shows that.

Cython itself refuses Python objects in C structs, and calls that need the GIL in functions without it. Rule 1 beyond
pairs, rule 4 and rule 10 take a reader, ThreadSanitizer and the target `threads` of the fuzzer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import pytest

from tests.support.subjects.kernel_source import (
    FILES,
    Function,
    Sources,
    functions,
    indent,
    lines_before,
    without_comments,
)

# Single lines.


class Line(NamedTuple):
    """A rule that a single line of a function can break; calling it yields the faults."""

    name: str
    pattern: str
    advice: str
    binds: Callable[[Function], bool] = lambda function: True
    """True for a function that the rule is for."""

    def __call__(self, sources: Sources) -> Iterator[str]:
        for function in filter(self.binds, functions(sources)):
            yield from (function.at(at, self.advice) for at, text in function.body if re.search(self.pattern, text))


MEMORY = Line(
    "only_two_files_reach_memory_by_position",
    r"\b(?:cursor|outer|out)\.at(?:\[| [+-]=)",
    "memory is reached by `take`, `put` or `reserve`, which look where it ends",
    lambda function: function.file not in ("cursor.pxd", "output.pxd"),
)
SIZES = Line(
    "sizes_of_memory_are_computed_by_is_size",
    r"\b(?:(?:\w*[mM]alloc|realloc)\(|PyBytes_FromStringAndSize\(NULL,).*[\w)] (?:[*+]|<<) \w",
    "a size is the result of `is_size`, which detects overflow",
)
NO_PYTHON_CODE = Line(  # errors there would be printed and lost, and Python code would see unfinished objects
    "functions_without_errors_run_no_python_code",
    r"\b(?:raise|try|import|assert|yield)\b|<object>|\bf\"|\bsteal\(",
    "give NULL or False and leave the work to Python, which says what is wrong",
    lambda function: "noexcept" in function.header,
)
COPIED_DICTS = Line(  # rule 9 for threads: others add to them
    "dicts_of_classes_are_copied_before_code_goes_over_them",
    r"\bfor .* in (?:vars\([^)]*\)|\w+\.__dict__)(?:\.(?:items|values|keys)\(\))?(?::| if\b|$)",
    "go over a copy: `vars(cls).copy().items()`",
)

# Exceptions are comments in the kernel, where the code is: `released by` with the function that does so, for what is
# handed over, and `set at import alone` for globals that no other thread can have met.


def comment_at(sources: Sources, file: str, line: int) -> str:
    return sources[file].split("\n")[line - 1].partition("  # ")[2]


RELEASED_BY = {
    "snapshot": "release_snapshot",
    "load_slot": "release",
    "lookup": "release",
    "alloc_items": "PyMem_Free|discard_elements|list_of",  # the latter two take it over
    "PyMem_Malloc": "PyMem_Free",
    "pause_collector": "resume_collector",
}
"""The functions that give up the result of a call, by the called function."""


def what_is_acquired_is_given_up_on_every_path(sources: Sources) -> Iterator[str]:
    """Snapshots, references of slots, memory and the pause of the collector end before a function does."""
    texts = {function.name: function.text for function in functions(sources)}
    for function in functions(sources):
        for index, (line, text) in enumerate(function.body):
            acquired = re.match(
                r" *(?:cdef )?(?:[\w ]+\*+ ?|bint )?(\w+) = (?:NULL if .* else )?(?:<\w+\*+>)?(\w+)\(", text
            )
            if not acquired or acquired[2] not in RELEASED_BY:
                continue
            name, releases = acquired[1], rf"\b(?:{RELEASED_BY[acquired[2]]})\("
            ends = {
                at
                for at, one in function.body[index + 1 :]
                if re.search(rf"{releases}{name}\b", one)
                or (
                    (by := re.match(r"released by (\w+)", comment_at(sources, function.file, at)))
                    and re.search(releases, texts[by[1]])
                )
            }
            if not ends:
                yield function.at(line, f"nothing gives up `{name}` of `{acquired[2]}`")
            for at in range(index + 1, len(function.body)):
                number, leave = function.body[at]
                path = [(number, leave), *lines_before(function, at)]
                if not leaves_at(function, at) or (line, text) not in path:
                    continue
                empty = re.compile(rf"\b{name} == NULL|\bnot {name}\b|\b{name} != NULL\b.*:$")
                around = [leave, *(one for _, one in heads(path))]
                if not any(one in ends for one, _ in path[: at - index]) and not any(map(empty.search, around)):
                    yield function.at(number, f"it leaves without giving up `{name}` of `{acquired[2]}`")


def heads(path: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the lines before the first one of a path that it is within, such as the `if` that it depends on."""
    limit = indent(path[0][1])
    for line, text in path[1:]:
        if indent(text) < limit:
            yield line, text
            limit = indent(text)


def leaves_at(function: Function, index: int) -> bool:
    return bool(re.match(r" *(?:return|raise)\b", function.body[index][1]))


def objects_that_structs_point_to_are_kept_alive(sources: Sources) -> Iterator[str]:
    """C structs hold no references, so the arena that they lie in does."""
    for function in functions(sources):
        for line, text in function.body:
            pointed = re.match(r" *\w[\w.\[\]]*\.\w+ = <PyObject\*>([\w.]+)$", text)
            if pointed and f"arena.append({pointed[1]})" not in function.text:
                yield function.at(line, f"`{pointed[1]}` may be freed before the struct: arena.append({pointed[1]})")


# Errors.

_OBJECTS = r"object|tuple|list|dict|set|bytes|str|Codec|Conversion|Batches|View|Memory|Tree|Projector|RecordTable"


def functions_that_return_c_values_say_how_they_fail(sources: Sources) -> Iterator[str]:
    """Without `noexcept` or `except` Cython asks after each call, with the GIL, for an error."""
    for function in functions(sources):
        returned = re.match(r"cdef (?:inline )?(?:const )?(?!inline\b)(\w+)\b[ *]+\w+\(", function.header)
        if (
            returned
            and not re.fullmatch(_OBJECTS, returned[1])
            and not re.search(r"\bnoexcept\b|\bexcept\b", function.header)
        ):
            yield function.at(function.line, "declare `noexcept`, or with `except` the value that says that it failed")


# Threads: the head of _kernel.pyx has the numbers of these rules.


def lists_that_are_arguments_are_copied(sources: Sources) -> Iterator[str]:
    """Rule 3: another thread may change a list that a caller has."""
    for function in functions(sources):
        if not function.header.startswith("def "):
            continue
        for line, text in function.body:
            for name in re.findall(r"PyList_(?:GET_ITEM|GET_SIZE)\(<PyObject\*>(\w+)", text):
                if not re.search(rf"\b{name} = (?:{name}\[:\]|list\({name}\)|\[|copy_\w+\({name}\))", function.text):
                    yield function.at(line, f"copy it first: `if WITHOUT_GIL: {name} = {name}[:]`")


def nothing_runs_under_the_lock_that_may_wait_for_it(sources: Sources) -> Iterator[str]:
    """Rule 5: no import, no plan and no other Python code."""
    for function in functions(sources):
        for line, text in locked(function):
            if re.search(r"\bimport\b|\bplan_of\(|\bcompile_codec\(|\bcodec_of\(|\bpython\[|\byield\b", text):
                yield function.at(line, "do it before `with init_lock`")


def locked(function: Function) -> Iterator[tuple[int, str]]:
    """Yield the lines of a function that run under the lock."""
    limit = -1
    for line, text in function.body:
        if limit >= 0 and indent(text) <= limit:
            limit = -1
        if limit >= 0:
            yield line, text
        elif text.strip() == "with init_lock:":
            limit = indent(text)


def globals_are_set_under_the_lock_and_their_pointer_last(sources: Sources) -> Iterator[str]:
    """Rule 6: a thread that sees the pointer sees everything that belongs to it."""
    for function in functions(sources):
        names = {
            name for one in re.findall(r"^ *global (.*)$", function.text, re.MULTILINE) for name in one.split(", ")
        }
        stated = next((line for line, text in function.body if text.lstrip().startswith("global ")), 0)
        if not names or comment_at(sources, function.file, stated) == "set at import alone":
            continue
        under = list(locked(function))
        for line, text in function.body:
            targets = re.match(r" *([\w, ]+) = ", text)
            if targets and names & set(targets[1].split(", ")) and (line, text) not in under:
                yield function.at(line, "set it under `with init_lock`")
        stores = [text for _, text in under if re.search(r"\bstore_release\(", text)]
        if not under or [text for _, text in under][-1:] != stores:
            yield function.at(function.line, "one pointer says that all is set: `store_release` it once, as the last")


def no_caches_are_globals(sources: Sources) -> Iterator[str]:
    """Rule 6: no caches, free lists and scratch buffers."""
    for file, text in sources.items():
        for number, line in enumerate(without_comments(text).split("\n"), 1):
            found = re.match(
                r"cdef (?:dict|list|set|bytearray|object) (\w+) = (?:\{|\[|dict\(|list\(|set\(|bytearray\()", line
            )
            if found and comment_at(sources, file, number) != "set at import alone":
                yield f"{file}:{number}: `{found[1]}` is shared by all threads: keep it in an object of one call"


def objects_with_a_state_are_for_one_call_at_a_time(sources: Sources) -> Iterator[str]:
    """Rule 7: a method of such a class claims its object first."""
    for file, text in sources.items():
        for one in re.split(r"^(?=cdef class )", without_comments(text), flags=re.MULTILINE)[1:]:
            block = re.match(r"cdef class \w+.*\n(?:(?: +.*)?\n)*", f"{one}\n")
            methods = list(functions({file: block[0] if block else ""}))
            changes = [
                method for method in methods if re.search(r"^ *self\.\w+ [+|]?= |with nogil", method.text, re.MULTILINE)
            ]
            if all(
                method.name in ("__cinit__", "__dealloc__") or method.name.startswith(("set_", "made_"))
                for method in changes
            ):
                continue
            for method in methods:
                public = method.header.startswith("def ") and method.name not in (
                    "__cinit__",
                    "__dealloc__",
                    "__iter__",
                )
                if public and not re.search(r"self\.claim\(\)|\benter\(|critical_section\(self\)", method.text):
                    yield method.at(
                        method.line, "two threads may call it: `enter` and `leave`, or cython.critical_section"
                    )


_BORROWING = (
    r"PyDict_GetItem\w*|PyList_GetItem|PyTuple_GetItem|PyObject_GetAttr\w*|PyModule_GetDict|PyWeakref_GetObject"
)


def no_function_of_python_gives_borrowed_references(sources: Sources) -> Iterator[str]:
    """Rule 8: another thread may drop a borrowed object. Only `lookup` calls `_PyType_Lookup`, and only with a GIL."""
    for file, text in sources.items():
        for number, line in enumerate(text.split("\n"), 1):
            if found := re.search(rf"\b(?:{_BORROWING})\b", line):
                yield f"{file}:{number}: {found[0]} borrows: use `lookup`, `load_slot` or a snapshot"
            elif re.search(r"\b_PyType_Lookup\(", line) and file != "capi.pxd":
                yield f"{file}:{number}: _PyType_Lookup borrows: use `lookup`"


def borrowed_values_are_not_used_after_something_is_freed(sources: Sources) -> Iterator[str]:
    """Rule 8: freeing an object may run Python code, which may free what was borrowed before."""
    for function in functions(sources):
        for index, (_, text) in enumerate(function.body):
            borrowed = re.match(r" *(?:cdef PyObject\* )?(\w+) = (?:PyList_GET_ITEM|PyTuple_GET_ITEM|slot_of)\(", text)
            if not borrowed:
                continue
            name, freed = re.compile(rf"\b{borrowed[1]}\b"), False
            for line, later in function.body[index + 1 :]:
                if re.match(rf" *{borrowed[1]} = |.*\bincref\({borrowed[1]}\)", later):
                    break
                if freed and name.search(later):
                    yield function.at(
                        line, f"`{borrowed[1]}` is borrowed, and may be gone: incref it before the decref"
                    )
                    break
                freed = freed or (bool(re.search(r"\bx?decref\((?!held\b)", later)) and indent(later) <= indent(text))


# Order.


def every_file_is_part_of_the_kernel_and_on_its_map(sources: Sources) -> Iterator[str]:
    """_kernel.pyx lists the content of each file in its head."""
    head = sources["_kernel.pyx"].partition("\ncimport ")[0]
    for file in sources:
        stem = file.partition(".")[0]
        if file.endswith(".pxi") and f'include "{file}"' not in sources["_kernel.pyx"]:
            yield f"{file}: nothing includes it"
        imports = rf'^from {stem} cimport |^include "{file}"$'
        imported = any(re.search(imports, text, re.MULTILINE) for text in sources.values())
        if file.endswith(".pxd") and not imported and stem != "_kernel":  # which Cython itself looks for
            yield f"{file}: nothing imports it"
        if file != "_kernel.pyx" and file not in head:
            yield f"{file}: the head of _kernel.pyx does not say what it is for"


Check: TypeAlias = Callable[[Sources], Iterator[str]] | Line

SEEDS: dict[Check, str] = {
    MEMORY: """
cdef bint skip(Cursor* cursor) noexcept nogil:
    cursor.at += 4
    return True
""",
    SIZES: """
cdef void* many(Py_ssize_t count) noexcept nogil:
    return malloc(count * sizeof(Item))
""",
    what_is_acquired_is_given_up_on_every_path: """
cdef bint look(PyObject* instance) noexcept:
    cdef PyObject* value = load_slot(instance, 16)
    if not PyLong_CheckExact(value):
        return False
    release(value)
    return True
""",
    objects_that_structs_point_to_are_kept_alive: """
cdef int set_default(Item* item, planned, list arena) except -1:
    item.default = <PyObject*>planned.default
    return 0
""",
    functions_that_return_c_values_say_how_they_fail: """
cdef inline Py_ssize_t double_of(Py_ssize_t size):
    return 2 * size
""",
    NO_PYTHON_CODE: """
cdef bint check(Py_ssize_t size) noexcept:
    if size < 0:
        raise ValueError
    return True
""",
    lists_that_are_arguments_are_copied: """
def first_of(list records):
    return <object>PyList_GET_ITEM(<PyObject*>records, 0)
""",
    nothing_runs_under_the_lock_that_may_wait_for_it: """
cdef int init_uuid() except -1:
    with init_lock:
        import uuid
    return 0
""",
    globals_are_set_under_the_lock_and_their_pointer_last: """
cdef int init_key(cls) except -1:
    global key_type, key_slot
    with init_lock:
        store_release(&key_type, <PyTypeObject*><PyObject*>cls)
        key_slot = offset(cls, "key")
    return 0
""",
    no_caches_are_globals: """
cdef dict codecs = {}
""",
    objects_with_a_state_are_for_one_call_at_a_time: """
cdef class Reader:

    cdef Py_ssize_t at

    def read(self):
        self.at += 1
        return self.at
""",
    no_function_of_python_gives_borrowed_references: """
cdef PyObject* find(PyObject* names, PyObject* name) noexcept:
    return PyDict_GetItem(names, name)
""",
    borrowed_values_are_not_used_after_something_is_freed: """
cdef PyObject* swap(PyObject* items, PyObject* old) noexcept:
    cdef PyObject* item = PyList_GET_ITEM(items, 0)
    decref(old)
    return new_ref(item)
""",
    COPIED_DICTS: """
cdef set names_of(cls):
    return {name for name, value in vars(cls).items() if value is not None}
""",
    every_file_is_part_of_the_kernel_and_on_its_map: "# New, and forgotten.\n",
}
"""Each check with a text that it refuses."""


@pytest.mark.parametrize("check", SEEDS, ids=lambda check: getattr(check, "name", None) or check.__name__)
def test_the_kernel_keeps_the_rule(check: Check) -> None:
    assert not list(check(FILES))


@pytest.mark.parametrize("check", SEEDS, ids=lambda check: getattr(check, "name", None) or check.__name__)
def test_a_violation_of_the_rule_is_found(check: Check) -> None:
    others = {name: text for name, text in FILES.items() if name == "_kernel.pyx"}
    found = list(check({**others, "seed.pxi": SEEDS[check]}))
    assert found and all(one.startswith("seed.pxi:") for one in found)


def test_every_function_of_the_kernel_is_looked_at() -> None:
    found = [function.name for function in functions(FILES)]
    heads = re.findall(
        r"^ *(?:cdef|def) [^=\n]*\b(\w+)\(", "\n".join(map(without_comments, FILES.values())), re.MULTILINE
    )
    declared = {"enter", "leave"}  # of C
    assert len(found) > 300
    assert set(heads) - set(found) - declared == set()
