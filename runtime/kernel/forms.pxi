# Plans as the kernel walks them: C structs with the offsets of slots, made once for each class.

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
    # What a field may be besides one of these values.
    NULLABLE_STRUCT
    ARRAY

# By the plan's word: the kind, the bits of a varint, and the fewest bytes that an element of an array takes.
KINDS = {
    "bool": (BOOL, 0, 1),
    "int8": (INT8, 0, 1),
    "int16": (INT16, 0, 2),
    "uint16": (UINT16, 0, 2),
    "int32": (INT32, 0, 4),
    "uint32": (UINT32, 0, 4),
    "int64": (INT64, 0, 8),
    "float64": (FLOAT64, 0, 8),
    "uuid": (UUID, 0, 16),
    "packed16": (PACKED, 16, 1),
    "packed32": (PACKED, 32, 1),
    "packed64": (PACKED, 64, 1),
    "upacked16": (UPACKED, 16, 1),
    "upacked32": (UPACKED, 32, 1),
    "upacked64": (UPACKED, 64, 1),
    "string": (STRING, 0, 1),
    "bytes": (BYTES, 0, 1),
    "struct": (STRUCT, 0, 0),
}

# Bytes that an element is taken to need at most, so that counts of 31 bits times these fit 64.
cdef int64_t MOST_LEAST = 1 << 31

# Structs within structs that the kernel follows, so that its C stack has an end.
cdef enum:
    MAX_DEPTH = 100
    # Structs in the default of a lazy struct that is written out once, to be compared with.
    MAX_DEFAULT_STRUCTS = 1000

cdef struct Operation:
    Kind kind
    # What one value is, or one element of an array; the fewest bytes of an element.
    Kind element
    Py_ssize_t least
    int bits
    bint nullable
    bint compact
    Py_ssize_t slot
    Form* form
    # -1 for a positional field; what follows is used of tagged ones alone.
    int64_t tag
    bint lazy
    PyObject* default
    # Of a lazy struct: the bytes of its default; NULL where equal structs may have other bytes, or it is too large.
    PyObject* default_bytes

cdef struct Form:
    PyTypeObject* type
    Operation* fields
    Py_ssize_t field_count
    Operation* tagged
    Py_ssize_t tagged_count
    int64_t* declared
    Py_ssize_t declared_count
    bint flexible
    Py_ssize_t unknown_slot
    # Of a layout, and then instead of the fields; else NULL.
    Part* parts
    Py_ssize_t part_count
    Py_ssize_t mark_count
    Part* size_part

class NotServed(Exception):
    """A class that the kernel leaves to its generated code."""


@cython.no_gc_clear  # forms point to what is kept
cdef class Codec:
    """What the kernel has made of one class, in which it is kept. Without a form the class is not served."""

    cdef object cls
    # What the form was made of; None in those of structs within others.
    cdef object plan
    cdef Form* form
    cdef tuple kept

    def __cinit__(self, cls):
        self.cls = cls

    def __dealloc__(self):
        if self.form != NULL:
            PyMem_Free(self.form.fields)
            PyMem_Free(self.form.tagged)
            PyMem_Free(self.form.declared)
            free_parts(self.form)
            PyMem_Free(self.form)


cdef Codec codec_of(cls):
    """The codec of a message's class, made when first asked for."""
    cdef PyObject* found = lookup(<PyObject*>cls, <PyObject*>"_codec")
    if found != NULL and type_of(found) == <PyTypeObject*>Codec and (<Codec>found).cls is cls:  # not that of a base
        return <Codec>found
    from kipwire.plan import NoPlanError, plan_of  # the first message alone has to wait for it

    try:
        plan = plan_of(cls)
        codec = made_codec(plan, {})
        codec.plan = plan
    except (NotServed, NoPlanError):
        codec = Codec(cls)
    cls._codec = codec
    return codec


cdef Codec made_codec(plan, dict codecs):
    """The codec of a plan. `codecs` has those of the structs in it that are already made, by class."""
    if plan.cls in codecs:
        return codecs[plan.cls]
    if plan.depth > MAX_DEPTH:
        raise NotServed
    expect_plain(plan.cls)
    codec = Codec(plan.cls)
    codec.form = form = <Form*>allocated(1, sizeof(Form))
    form.type = <PyTypeObject*><PyObject*>plan.cls
    form.fields = <Operation*>allocated(len(plan.items), sizeof(Operation))
    form.tagged = <Operation*>allocated(len(plan.tagged), sizeof(Operation))
    form.declared = <int64_t*>allocated(len(plan.declared_tags), sizeof(int64_t))
    form.flexible = plan.flexible
    if plan.flexible:
        form.unknown_slot = offset(plan.cls, "_unknown_tagged_fields")
    kept = []
    if not plan.is_plain:
        fill_parts(form, plan, codecs, kept)
    for operation in plan.items if plan.is_plain else ():
        fill(&form.fields[form.field_count], operation, plan.cls, codecs, kept)
        form.field_count += 1
    for operation in plan.tagged:
        fill(&form.tagged[form.tagged_count], operation, plan.cls, codecs, kept)
        form.tagged_count += 1
    for tag in plan.declared_tags:
        form.declared[form.declared_count] = tag
        form.declared_count += 1
    codec.kept = tuple(kept)
    codecs[plan.cls] = codec
    return codec


cdef int fill(Operation* field, operation, cls, dict codecs, list kept) except -1:
    """Set one operation of a form. Whatever it points to goes into `kept`."""
    attribute = find(cls, operation.name)
    if operation.kind not in KINDS:
        raise NotServed
    field.element, field.bits, field.least = KINDS[operation.kind]
    field.kind = ARRAY if operation.array else field.element
    if field.kind == STRUCT and operation.nullable:
        field.kind = NULLABLE_STRUCT
    field.nullable = operation.nullable
    field.compact = operation.compact
    field.tag = -1 if operation.tag is None else operation.tag
    field.lazy = isinstance(attribute, LazyStruct)
    field.slot = offset(cls, attribute.slot if field.lazy else operation.name)
    field.default = <PyObject*>operation.default
    kept.append(operation.default)
    if operation.plan is not None:
        codec = made_codec(operation.plan, codecs)
        kept.append(codec)
        field.form = codec.form
        field.least = min(operation.plan.minimum_size, MOST_LEAST)
        if field.lazy and not operation.plan.has_floats and operation.plan.default_structs <= MAX_DEFAULT_STRUCTS:
            default_bytes = bytes_of(codec, operation.plan.cls())
            kept.append(default_bytes)
            field.default_bytes = <PyObject*>default_bytes
    if field.element == UUID:
        learn_uuid()
    if field.tag >= 0 and field.kind in (FLOAT64, UUID):
        # Defaults of other types are compared by Python's rules, these by their content.
        if type(operation.default) is not (float if field.kind == FLOAT64 else <object>uuid_type):
            raise NotServed
    return 0


cdef void* allocated(Py_ssize_t count, size_t size) except NULL:
    memory = PyMem_Calloc(max(count, 1), size)
    if memory == NULL:
        raise MemoryError
    return memory


cdef void* uncleared(Py_ssize_t count, size_t size) noexcept:
    """Memory for so many items, with anything in it; NULL without memory."""
    cdef Py_ssize_t total
    return PyMem_Malloc(total) if is_size(count, size, 0, &total) else NULL


cdef find(cls, name):
    """What a class or one of its bases has under a name, itself rather than what it gives."""
    for base in cls.__mro__:
        if name in vars(base):
            return vars(base)[name]
    raise NotServed


cdef Py_ssize_t offset(cls, name) except -1:
    """Where instances keep the value of a slot."""
    descriptor = find(cls, name)
    at = slot_offset(<PyObject*>cls, <PyObject*>name, <PyObject*>descriptor)
    if at < 0:
        raise NotServed
    return at


cdef int expect_plain(cls) except -1:
    """See that nothing but its generated code decides how a class reads and writes.

    A class of one's own may be derived from a generated one and change that; then its changes are what counts.
    """
    if cls.__setattr__ is not object.__setattr__ or cls.__getattribute__ is not object.__getattribute__:
        raise NotServed
    if cls.__dictoffset__ or type(cls) is not type or not is_plain(<PyTypeObject*><PyObject*>cls):
        raise NotServed  # instances are then more than their slots, or made otherwise
    for base in cls.__mro__:
        codec = vars(base).keys() & GENERATED
        if "FIELDS" in codec:
            return 0
        if codec:
            raise NotServed
    raise NotServed


# What a generated class reads and writes with.
GENERATED = frozenset("""
    FIELDS FLEXIBLE OTHER_TAGS _read _read_tagged_field _write _tagged_fields
    """.split())


# How instances of uuid.UUID keep their number, learnt from the class when it is first needed.
cdef PyTypeObject* uuid_type = NULL
cdef Py_ssize_t uuid_number_slot
cdef Py_ssize_t uuid_safety_slot
cdef PyObject* uuid_safety


cdef int learn_uuid() except -1:
    global uuid_type, uuid_number_slot, uuid_safety_slot, uuid_safety
    if uuid_type != NULL:
        return 0
    import uuid

    uuid_number_slot = offset(uuid.UUID, "int")
    uuid_safety_slot = offset(uuid.UUID, "is_safe")
    uuid_safety = <PyObject*>uuid.SafeUUID.unknown
    keep(uuid_safety)
    keep(<PyObject*>uuid.UUID)
    uuid_type = <PyTypeObject*><PyObject*>uuid.UUID
    return 0
