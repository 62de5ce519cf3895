# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""The compiled kernel: reads and writes the messages of every generated class by the plan of its fields.

`kipwire.native.from_kernel` puts functions from here in the place of Python's, and says when they give up.
"""

# Theory.
#
# From a plan to a struct plan. `kipwire.description.plan` says of a class everything that its bytes depend on. At the
# first use of the class the kernel compiles this plan to a StructPlan: an array of Items in the order of the bytes,
# each with its kind, its prefix and the offset of the slot where instances keep the value. A Codec owns the struct
# plan, and the class has the codec in `_codec`. A plan with a word that the kernel does not know has no struct plan
# (NotServed), and the class is left to its generated code; tests/kernel/test_served_classes.py lists these.
#
# The good path alone. The kernel reads strictly valid bytes, and writes values of exactly the types of their fields.
# On anything else a function gives NULL or False, without a reason and without an exception: its caller frees what it
# has, clears an error that CPython may have set, and calls the Python function, which `python` has by its name. The
# Python function starts from the beginning, and raises the error with its location, or accepts the value, such as a
# tuple for a list. So there is one text for each error, and no branch here for any error.
#
# Memory. Bytes are read through `take` (cursor.pxd) and written through `put` or `reserve` and `commit` (output.pxd),
# the places that know where memory ends; sizes are computed by `is_size` (sizes.pxd). A codec, a projector or a tree
# of columns has an arena for all that lives as long as it does: a list of blocks, and of the objects that C structs
# in the blocks point to. Numbers of elements are bounded by the bytes that are left before memory for them is
# allocated.
#
# References. `PyObject*` are counted by hand. A function that reads gives a new reference, which its caller puts into
# a slot or a list, which steal the reference, or drops. A function that writes borrows: arguments, snapshots and
# arenas keep alive what the function looks at. No Python code runs between a borrowed reference and its last use,
# since no function here calls any: comparisons are of exact ints, texts and bytes.
#
# Half-made objects. An instance is made first, with empty slots, and filled as its bytes are read: so whatever has
# been read has an owner, and one `decref` of the instance frees all of it when a later byte is wrong. Until the
# message is whole, no other code may meet the instance: the garbage collector pauses where collections run in
# allocations (before Python 3.12), and a list is made when all its elements exist.
#
# Threads. Without a GIL another thread may run between any two lines. Struct plans are constant once their class has
# them. Instances that callers know are read as snapshots. Globals are set once, under `init_lock`. Ten rules for
# code without a GIL stand below the map of the files.
#
# Three readers of one plan. Objects, columns and projections are read by recursion over the same items, with the same
# verdict on the same bytes. The readers share how a text, a blob, a count, a marker and the next tag are taken
# (prefixes.pxi, reading.pxi). Each has its own loop over the values, and skips unselected fields in its own way: one
# walk that skips for columns and projections alike made projections 4 to 8 % slower.
#
# Groups. The files are one module, since compilers inline across them. They form five groups, in the order of the
# includes below: objects, records, columns, projection, conversion. A group may use another one only if that one stands
# before it, and only what its interface declares: objects.pxd, records.pxd. The others offer nothing to groups.
# _kernel.pxd includes the interfaces, so Cython compares each declaration with the definition;
# tests/kernel/test_kernel_source.py checks the names that a group uses, and that each one offered is used.
#
# Which file is which:
#   _kernel.pxd, objects.pxd, records.pxd          the interfaces of groups
#   capi.pxd, cursor.pxd, output.pxd, sizes.pxd    the parts of CPython that are used; memory by position; sizes
#   plans.pxi, prefixes.pxi                        struct plans, and which classes are served; sizes and counts
#   reading.pxi, writing.pxi, tag_writing.pxi      instances from bytes and to bytes; the tag section at the end
#   computed.pxi, computed_reading.pxi,            what only record formats have: sizes, checksums, constants, bits,
#     computed_writing.pxi, checksums.pxd            values that may be absent; CRC-32 and CRC-32C
#   conversion.pxi                                 from one version of a message to another
#   records.pxi                                    records of magic 2 from and to `kipwire.records.Record`, by hand
#   batches.pxi, batch_writing.pxi                 their batches: read_batches, RecordBatch.records, write_batch
#   columns.pxi, column_memory.pxi                 Arrow columns as a tree of C structs, and their memory
#   column_reading.pxi, column_writing.pxi,        bytes to columns, and back; UTF-8 as Python checks it
#     utf8.pxd
#   record_columns.pxi                             the records of batches as columns
#   projection.pxi, projection_reading.pxi,        chosen fields: programs that find them, reading, and replacing
#     projection_writing.pxi
#
# Rules for threads. The helpers are in capi.pxd, and cost nothing with a GIL. tests/kernel/test_kernel_source.py checks
# the rules that a text can show.
#   1. Read a caller's instance only through `snapshot` (a copy of its slots, lists and dicts) until
#      `release_snapshot`, as `write_struct`, `convert_struct`, `write_record` and `write_set` do; below these,
#      `slot_of`, `PyList_GET_ITEM` and `PyDict_Next` are safe. A new way to write a struct starts at
#      `write_struct` or takes a snapshot.
#   2. Read a single slot of such an instance by `load_slot`, then `release`.
#   3. Copy a list that is an argument first: `if WITHOUT_GIL: items = items[:]`; lists in it when reached
#      (`take_given`); instances in it if looked at before writing (`copy_records`).
#   4. Set what is read from bytes directly until it is returned; add nothing afterwards. Set a value made on
#      first use by `publish`, and use its result.
#   5. Complete a struct plan and all it points to before putting its codec into its class; never change the
#      plan afterwards. The first thread wins: look again and set `with init_lock`; never import, plan or call
#      other Python code under the lock.
#   6. Set a C global once: first what belongs to it, then its pointer by `store_release`; readers ask `is_set`.
#      No caches, free lists or scratch buffers in C globals.
#   7. An object of a Cython class that works `with nogil` or has state serves one call at a time: `enter`,
#      `leave`. Where only kernel code runs, `cython.critical_section` makes others wait (`Batches`).
#   8. Take a strong reference to a borrowed object that another thread can reach, first thing (`lookup`,
#      `release`). Objects from arenas, snapshots and arguments may stay borrowed.
#   9. Code that calls into Python iterates over a copy: `vars(cls).copy().items()`, `[*fields.items()]`.
#  10. No C struct on a thread's stack is visible to another thread.
# In Python a value made on first use is looked at again and set under a lock (`kipwire.model.lazy.get_or_set`,
# `LazyStruct`), or the same from every thread (`functools.cache`).

cimport cython
from cpython.buffer cimport (
    PyBUF_FORMAT, PyBUF_ND, PyBUF_SIMPLE, PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer,
)
from libc.stdint cimport int8_t, int16_t, int32_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc, qsort, realloc
from libc.string cimport memcmp, memcpy, memset

from checksums cimport *
from cursor cimport *
from output cimport *
from sizes cimport is_size
from utf8 cimport is_utf8, put_text_of_any, text_of

from _thread import RLock
from struct import pack as packed

from kipwire.codec import empty_elements
from kipwire.codec import wire
from kipwire.message.messages import Message, content_of
from kipwire.model.errors import UnsupportedVersionError
from kipwire.model.structs import DEFAULT, Field, LazyStruct

# The lock for check-then-set of what all threads share. No code under the lock imports, makes a plan or calls
# other Python code, to avoid deadlock.
cdef object init_lock = RLock()

cdef object lazy_default = DEFAULT
cdef PyObject* LAZY = <PyObject*>lazy_default
cdef int64_t MAX_STRING = wire.MAX_STRING
cdef int64_t MAX_LENGTH = wire.MAX_LENGTH
cdef int64_t EMPTY_ELEMENTS_ALWAYS = empty_elements.MIN_LIMIT
cdef int64_t BYTES_FOR_EACH_MORE = empty_elements.BYTES_PER_ELEMENT
cdef int64_t MAX_TAG = wire.MAX_TAG

# Numbers that most fields have, made once.
cdef enum:
    SMALL = 256
cdef tuple small_ints = tuple(range(-SMALL, SMALL))
cdef PyObject* SMALL_INTS[2 * SMALL]
for _i in range(2 * SMALL):
    SMALL_INTS[_i] = <PyObject*>small_ints[_i]

cdef enum:
    # The least memory of an instance, so that as many bytes of room for each element of an array are no danger.
    MIN_OBJECT_SIZE = 48

# Objects: messages of the served classes from and to bytes, and the plans that all groups go by.
include "prefixes.pxi"
include "plans.pxi"
include "computed.pxi"
include "reading.pxi"
include "computed_reading.pxi"
include "writing.pxi"
include "tag_writing.pxi"
include "computed_writing.pxi"

# Records: batches of magic 2 and the records in them.
include "records.pxi"
include "batches.pxi"
include "batch_writing.pxi"

# Columns: Arrow columns of messages and of records.
include "columns.pxi"
include "column_memory.pxi"
include "column_reading.pxi"
include "column_writing.pxi"
include "record_columns.pxi"

# Projection: chosen fields, read and replaced.
include "projection.pxi"
include "projection_reading.pxi"
include "projection_writing.pxi"

# Conversion: messages from one version to another.
include "conversion.pxi"

# What code relies on, beside three such lines of columns: the compiler refuses what does not hold.
# tests/kernel/test_kernel_names.py compares enums with lists of Python.
#
# Kinds from BOOL to UUID have a fixed width. PACKED and UPACKED follow, what is left where all others have a branch of
# their own. The last five have extras. SECTION is the one before them, so that projections refuse all from there on.
static_assert(BOOL == 0)
static_assert(FLOAT64 + 1 == UUID)
static_assert(UUID + 1 == PACKED)
static_assert(PACKED + 1 == UPACKED)
static_assert(UPACKED + 1 == STRING)
static_assert(SECTION + 1 == BOUND)
static_assert(CONSTANT == BOUND + 4)
# An item without a prefix is one whose memory is zeroed.
static_assert(NO_PREFIX == 0)
# Room for one value in the output, and for a default in a column: a UUID, or the longest varint.
static_assert(MAX_SCALAR_SIZE >= 16)
static_assert(MAX_SCALAR_SIZE >= MAX_VARINT_SIZE)
# C types: numbers of 64 bits go through these, and addresses through numbers of Python.
static_assert(sizeof(double) == 8)
static_assert(sizeof(long long) == 8)
static_assert(sizeof(size_t) == sizeof(void*))

# Objects again, as Python calls them.

# What Python has given by its name: the functions that do what the kernel does not, and what batches are made of.
cdef dict python = {}  # set at import alone


def bind(name, given):
    """Take what Python has of a name; return the function of the same name here, which may call it, or None."""
    python[name] = given
    return globals().get(name)


def decode(cls, data):
    cdef Codec codec = codec_of(cls)
    cdef Cursor cursor
    cdef PyObject* message
    if codec.compiled != NULL:
        if type(data) is not bytes:
            data = content_of(data)
        message = read_message(codec.compiled, data, 0, &cursor)
        if message != NULL and cursor.at == cursor.end:
            return steal(message)
        discard_message(message)
    return python["decode"](cls, data)


def read(cls, data, offset=0):
    cdef Codec codec = codec_of(cls)
    cdef Cursor cursor
    cdef PyObject* message
    cdef int64_t at
    if codec.compiled != NULL and as_number(<PyObject*>offset, &at):
        if type(data) is not bytes:
            data = content_of(data)
        if 0 <= at <= PyBytes_GET_SIZE(<PyObject*>data):
            message = read_message(codec.compiled, data, at, &cursor)
            if message != NULL and may_have(cursor.at - cursor.start, cursor.empty_elements):
                return steal(message), at + (cursor.at - cursor.start)
            discard_message(message)
    return python["read"](cls, data, offset)


cdef inline PyObject* read_message(const StructPlan* plan, data, int64_t at, Cursor* cursor) noexcept:
    """Read the message that starts at a position; the message is hidden from Python until it is complete."""
    cdef bint was_collecting = pause_collector()
    cdef PyObject* message
    open_bytes(<PyObject*>data, at, cursor)
    message = read_struct(plan, cursor)
    resume_collector(was_collecting)
    return message


cdef inline void open_bytes(PyObject* data, int64_t at, Cursor* cursor) noexcept:
    """Move to a position in bytes, as at the start of a message."""
    cdef const uint8_t* start = <const uint8_t*>PyBytes_AS_STRING(data)
    open_cursor(cursor, start + at, start + PyBytes_GET_SIZE(data))


cdef void discard_message(PyObject* message) noexcept:
    """Drop a message that Python is to read again, and an error that is set."""
    xdecref(message)
    PyErr_Clear()


def encode(self):
    cdef Codec codec = codec_of(type(self))
    cdef Output out
    cdef uint8_t stack[STACK]
    if codec.compiled != NULL and write_message(codec.compiled, <PyObject*>self, stack, False, &out):
        return steal(close_output(&out))
    return python["encode"](self)


def encoded_size(self):
    cdef Codec codec = codec_of(type(self))
    cdef Output out
    cdef uint8_t stack[STACK]
    if codec.compiled != NULL and write_message(codec.compiled, <PyObject*>self, stack, True, &out):
        discard_output(&out)
        return written(&out)
    return python["encoded_size"](self)


cdef bint write_message(const StructPlan* plan, PyObject* message, uint8_t* stack, bint counts, Output* out) noexcept:
    """Write a message, first onto the stack. True if the message can be written; else there is no output."""
    open_output(out, stack, STACK, counts)
    if commit(out, write_struct(plan, message, out.at, out)) and may_have(written(out), out.empty_elements):
        return True
    discard_output(out)
    PyErr_Clear()
    return False


def serves(cls):
    """True if the kernel does the work for this class of messages."""
    return codec_of(cls).compiled != NULL


cdef inline steal(PyObject* reference):
    """A new reference as an object; NULL as the error that is set."""
    if reference == NULL:
        raise MemoryError
    item = <object>reference
    decref(reference)
    return item


cdef bytes bytes_of(Codec codec, item):
    """The bytes of a struct; NotServed if the kernel cannot write it."""
    cdef Output out
    cdef uint8_t stack[STACK]
    if not write_message(codec.compiled, <PyObject*>item, stack, False, &out):
        raise NotServed
    return <bytes>steal(close_output(&out))
