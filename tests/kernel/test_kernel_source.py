"""The kernel's sources keep the rules at the head of _kernel.pyx, as far as a text shows that.

Cython itself refuses Python objects in C structs, and calls that need the GIL in functions without it. Rule 1 beyond
pairs, rule 4 and rule 10 take a reader, ThreadSanitizer and the target `threads` of the fuzzer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

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

# Memory.


def memory_is_read_and_written_by_position_in_two_files(sources: Sources) -> Iterator[str]:
    """cursor.pxd and output.pxd know where memory ends."""
    for function in functions(sources):
        if function.file in ("cursor.pxd", "output.pxd"):
            continue
        for line, text in function.body:
            if re.search(r"\b(?:cursor|outer|out)\.at(?:\[| [+-]=)", text):
                yield function.at(line, "memory is reached by `take`, `put` or `reserve`, which look where it ends")


def sizes_of_memory_are_computed_by_is_size(sources: Sources) -> Iterator[str]:
    """Products and sums may wrap."""
    for function in functions(sources):
        for line, text in function.body:
            for size in re.findall(r"\b(?:(?:\w*[mM]alloc|realloc)\(|PyBytes_FromStringAndSize\(NULL,)(.*)", text):
                if re.search(r"[\w)] (?:[*+]|<<) \w", size):
                    yield function.at(line, "a size is the result of `is_size`, which detects overflow")


PAIRS = {
    "snapshot": r"\brelease_snapshot\({}\b|\belements\[i\]\.element = {}\b",  # write_set releases it
    "load_slot": r"\brelease\({}\)",
    "lookup": r"\brelease\({}\)",
    "alloc_items": r"\bPyMem_Free\({}\)|\b(?:discard_elements|list_of|read_integers)\((?:\w+, )?{}\b|\.next = {}\b",
    "PyMem_Malloc": r"\bPyMem_Free\({}\)",
    "pause_collector": r"\bresume_collector\({}\)",
}
"""Patterns of code that gives up the result of a call, by the called function; `{}` is the variable with the result."""


def what_is_acquired_is_given_up_on_every_path(sources: Sources) -> Iterator[str]:
    """Snapshots, references of slots, memory and the pause of the collector end before a function does."""
    for function in functions(sources):
        for index, (line, text) in enumerate(function.body):
            acquired = re.match(
                r" *(?:cdef )?(?:[\w ]+\*+ ?|bint )?(\w+) = (?:NULL if .* else )?(?:<\w+\*+>)?(\w+)\(", text
            )
            if not acquired or acquired[2] not in PAIRS:
                continue
            name, end = acquired[1], re.compile(PAIRS[acquired[2]].format(*[re.escape(acquired[1])] * 3))
            leaves = [at for at in range(index + 1, len(function.body)) if leaves_at(function, at)]
            if not any(end.search(one) for _, one in function.body[index + 1 :]):
                yield function.at(line, f"nothing gives up `{name}` of `{acquired[2]}`")
            for at in leaves:
                number, leave = function.body[at]
                path = [leave, *lines_before(function, at)]
                if text not in path:
                    continue
                empty = re.compile(rf"\b{name} == NULL|\bnot {name}\b|\b{name} != NULL\b.*:$")
                if not any(end.search(one) or empty.search(one) for one in path[: max(at - index, 1)]):
                    yield function.at(number, f"it leaves without giving up `{name}` of `{acquired[2]}`")


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


def functions_without_errors_run_no_python_code(sources: Sources) -> Iterator[str]:
    """Errors in `noexcept` functions are printed and lost, and Python code there could see unfinished objects."""
    for function in functions(sources):
        if "noexcept" not in function.header:
            continue
        for line, text in function.body:
            if re.search(
                r"\b(?:raise|try|import|assert|yield)\b|<object>(?!\w+, \w+, &cursor\))|\bf\"|\bsteal\(", text
            ):
                yield function.at(line, "give NULL or False and leave the work to Python, which says what is wrong")


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
            if re.search(r"\bimport\b|\bplan_of\(|\bcompile_codec\(|\bcodec_of\(|\breplaced\[|\byield\b", text):
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


SET_AT_IMPORT = {"fall_back_on"}
"""Functions that set globals before other threads can reach the kernel; later only tests call them."""


def globals_are_set_under_the_lock_and_their_pointer_last(sources: Sources) -> Iterator[str]:
    """Rule 6: a thread that sees the pointer sees everything that belongs to it."""
    for function in functions(sources):
        names = {
            name for one in re.findall(r"^ *global (.*)$", function.text, re.MULTILINE) for name in one.split(", ")
        }
        if not names or function.name in SET_AT_IMPORT:
            continue
        under = list(locked(function))
        for line, text in function.body:
            targets = re.match(r" *([\w, ]+) = ", text)
            if targets and names & set(targets[1].split(", ")) and (line, text) not in under:
                yield function.at(line, "set it under `with init_lock`")
        stores = [text for _, text in under if re.search(r"\bstore_release\(", text)]
        if not under or [text for _, text in under][-1:] != stores:
            yield function.at(function.line, "one pointer says that all is set: `store_release` it once, as the last")


ALLOWED_GLOBALS = {"replaced": "set at import alone"}


def no_caches_are_globals(sources: Sources) -> Iterator[str]:
    """Rule 6: no caches, free lists and scratch buffers."""
    for file, text in sources.items():
        for number, line in enumerate(without_comments(text).split("\n"), 1):
            found = re.match(
                r"cdef (?:dict|list|set|bytearray|object) (\w+) = (?:\{|\[|dict\(|list\(|set\(|bytearray\()", line
            )
            if found and found[1] not in ALLOWED_GLOBALS:
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


def dicts_of_classes_are_copied_before_code_goes_over_them(sources: Sources) -> Iterator[str]:
    """Rule 9: other threads add to them."""
    for function in functions(sources):
        for line, text in function.body:
            if re.search(
                r"\bfor .* in (?:vars\([^)]*\)|\w+\.__dict__)(?:\.(?:items|values|keys)\(\))?(?::| if\b|$)", text
            ):
                yield function.at(line, "go over a copy: `vars(cls).copy().items()`")


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


Check: TypeAlias = Callable[[Sources], Iterator[str]]

SEEDS: dict[Check, str] = {
    memory_is_read_and_written_by_position_in_two_files: """
cdef bint skip(Cursor* cursor) noexcept nogil:
    cursor.at += 4
    return True
""",
    sizes_of_memory_are_computed_by_is_size: """
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
    functions_without_errors_run_no_python_code: """
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
    dicts_of_classes_are_copied_before_code_goes_over_them: """
cdef set names_of(cls):
    return {name for name, value in vars(cls).items() if value is not None}
""",
    every_file_is_part_of_the_kernel_and_on_its_map: "# New, and forgotten.\n",
}
"""Each check with a text that it refuses."""


@pytest.mark.parametrize("check", SEEDS, ids=lambda check: check.__name__)
def test_the_kernel_keeps_the_rule(check: Check) -> None:
    assert not list(check(FILES))


@pytest.mark.parametrize("check", SEEDS, ids=lambda check: check.__name__)
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
