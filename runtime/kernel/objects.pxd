# The interface of objects: what other groups may use of plans, and of how the values in them are read and written.
# Cython compares each declaration with the definition, in the file that the heading names.

# Prefixes of texts, blobs and arrays (prefixes.pxi).

cdef enum Prefix:
    NO_PREFIX  # the type says it
    INT16_PREFIX
    INT32_PREFIX
    VARINT_PREFIX
    UVARINT_PREFIX
    UVARINT_PLUS_ONE_PREFIX
    REST_PREFIX  # all up to the cursor's end

cdef int64_t MAX_LENGTH

cdef bint take_length(Prefix prefix, Cursor* cursor, int64_t* length) noexcept nogil
cdef bint take_text(
    Prefix prefix, bint nullable, Cursor* cursor, const uint8_t** text, int64_t* size
) noexcept nogil
cdef bint take_blob(
    Prefix prefix, bint nullable, Cursor* cursor, const uint8_t** blob, int64_t* size
) noexcept nogil
cdef bint is_text_length(Prefix prefix, int64_t length) noexcept nogil
cdef bint put_length(Prefix prefix, Py_ssize_t length, Output* out) noexcept
cdef bint set_length(Prefix prefix, Py_ssize_t at, Py_ssize_t length, Output* out) noexcept

# Plans compiled to C structs (plans.pxi).

cdef enum Kind:
    BOOL
    INT8
    INT16
    UINT16
    INT32
    UINT32
    INT64
    FLOAT64
    UUID
    PACKED
    UPACKED
    STRING
    BYTES
    STRUCT
    # What an item may be apart from one of the values above.
    NULLABLE_STRUCT
    ARRAY
    SECTION  # an array of structs whose prefix says how many bytes they take
    # What only record formats have, described in computed.pxi: a value that may be absent, without a prefix, or bound
    # to something else, and what no attribute holds.
    BOUND
    BITS
    SIZE
    CHECKSUM
    CONSTANT

cdef struct Extras  # in computed.pxi

cdef struct Item:
    Kind kind
    # What one value is, or one element of an array.
    Kind element
    # What says how long one text or blob is, and what says how long an array is.
    Prefix size
    Prefix count
    bint nullable
    # Of an integer that is a varint: its bits; else 0.
    int bits
    Py_ssize_t slot
    # Of kinds from BOUND on, else NULL.
    Extras* extras
    StructPlan* plan
    # The fewest bytes of an element; of an integer of fixed width its bytes.
    Py_ssize_t min_size
    # Of an integer: its range.
    int64_t low
    int64_t high
    # -1 for a positional item. Only tagged items use what follows.
    int64_t tag
    bint lazy
    PyObject* default
    # Of a lazy struct: the bytes of its default; NULL where equal structs may have other bytes, or it is too large.
    PyObject* default_bytes

cdef struct StructPlan:
    PyTypeObject* type
    Item* items
    Py_ssize_t item_count
    Item* tagged
    Py_ssize_t tagged_count
    int64_t* declared
    Py_ssize_t declared_count
    bint flexible
    # Whether the struct and all structs in it have only plain values, and nothing of computed.pxi.
    bint is_plain
    Py_ssize_t unknown_slot
    # Number of marks, which are set while an instance is read or written; 0 where no item is computed.
    int mark_count
    # All slots that hold values; only without a GIL.
    Py_ssize_t* slots
    Py_ssize_t slot_count

# class NotServed, which is of Python

cdef class Codec:
    cdef object cls
    # The plan that the codec was compiled from; None in the codecs of structs within others.
    cdef object plan
    cdef StructPlan* compiled
    # Memory of the struct plan, and references to all objects that it points to, for as long as the codec lives.
    cdef list arena
    # Conversions of messages of the class, by the class that they are converted to; see conversion.pxi.
    cdef dict conversions

cdef Codec codec_of(cls)
cdef void* arena_alloc(list arena, Py_ssize_t count, size_t size) except NULL
cdef void* alloc_items(Py_ssize_t count, size_t size) noexcept
cdef Py_ssize_t offset(cls, name) except -1
cdef Py_ssize_t* slots_of(cls, list arena, Py_ssize_t* count) except NULL
cdef int install_dealloc(cls) except -1

cdef object init_lock  # and this in _kernel.pyx, with the default of lazy structs, and what Python has given by its name
cdef PyObject* LAZY
cdef dict python

# Reading (reading.pxi; `open_bytes` and `steal` are in _kernel.pyx).

cdef enum NextTag:
    TAG_KNOWN  # a field of the class: its value follows
    TAG_LEFT_OUT  # a field of the class that is at its default
    TAG_UNKNOWN  # another field, whose bytes have been taken
    TAGS_END
    TAGS_BROKEN

cdef struct Tags:
    # Number of fields after the current one, and whether the current field was not given yet.
    uint64_t count
    bint is_pending
    # The current field: where it begins, its tag, its size, and where its value begins.
    const uint8_t* field
    int64_t tag
    uint64_t size
    const uint8_t* value
    # Of the fields of the class: the number of the current field, and of the first that was not given yet.
    Py_ssize_t known
    Py_ssize_t next_known

cdef void open_bytes(PyObject* data, int64_t at, Cursor* cursor) noexcept
cdef PyObject* read_value(Kind kind, const Item* item, bint nullable, Cursor* cursor) noexcept
cdef PyObject* read_blob(Prefix prefix, bint nullable, Cursor* cursor) noexcept
cdef bint take_packed(const Item* item, Cursor* cursor, int64_t* number) noexcept nogil
cdef bint take_marker(const Item* item, Cursor* cursor, bint* is_there) noexcept nogil
cdef bint take_count(const Item* item, bint nullable, Cursor* cursor, int64_t* count) noexcept nogil
cdef bint can_hold(Cursor* cursor, int64_t count, Py_ssize_t min_size) noexcept nogil
cdef bint may_have(Py_ssize_t size, int64_t empty_elements) noexcept nogil
cdef void open_tags(Tags* tags, uint64_t count) noexcept nogil
cdef NextTag next_tag(const StructPlan* plan, Tags* tags, Cursor* cursor) noexcept nogil
cdef bint has_size(const Tags* tags, const Cursor* cursor) noexcept nogil
cdef bint is_declared(const StructPlan* plan, int64_t tag) noexcept nogil
cdef PyObject* new_int(int64_t number) noexcept
cdef PyObject* new_ref(PyObject* value) noexcept
cdef PyObject* discard_elements(PyObject** elements, Py_ssize_t count) noexcept
cdef steal(PyObject* reference)

# Writing (writing.pxi, tag_writing.pxi).

cdef enum:
    STACK = 4096  # output up to this size takes no memory but the result's

# A known field that is being written: the positions of its tag and its size, and the number of bytes before its value.
cdef struct TaggedField:
    Py_ssize_t start
    Py_ssize_t size_at
    Py_ssize_t before

cdef bint put_item(const Item* item, PyObject* value, Output* out) noexcept
cdef bint put_marker(const Item* item, bint is_there, Output* out) noexcept
cdef bint put_number(const Item* item, int64_t number, Output* out) noexcept
cdef bint write_text(Prefix prefix, PyObject* value, Output* out) noexcept
cdef bint write_blob(Prefix prefix, PyObject* value, Output* out) noexcept
cdef bint begin_tagged(const Item* item, TaggedField* field, Output* out) noexcept
cdef bint end_tagged(const Item* item, bint is_there, const TaggedField* field, Output* out) noexcept
cdef bint ends_with(Output* out, Py_ssize_t start, PyObject* expected) noexcept
cdef bint write_tagged_field(const Item* item, PyObject* value, Output* out) noexcept
