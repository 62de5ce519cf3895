# Plans compiled to C structs with the offsets of slots, once for each class.

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
INTEGERS = frozenset(kind for kind in KINDS if "int" in kind or "packed" in kind)
UNSIGNED = frozenset(("uint16", "uint32"))

# By the plan's word: what no attribute holds.
ROLES = {"bits": BITS, "size": SIZE, "checksum": CHECKSUM, "constant": CONSTANT}

# Properties of fields that the kernel supports. A class whose fields have others is left to its generated code.
KNOWN_PROPERTIES = frozenset("""
    _compact absent_if algorithm array bit bits default element encoding entity_type ignorable map_key name nullable owner
    prefix present_if role same_length_as size_only_with sized sorted_by spec_name start struct tag type
    """.split())
UNKNOWN_PROPERTIES = tuple(name for name in Field.__slots__ if name not in KNOWN_PROPERTIES)
DEFAULTS = Field.__init__.__kwdefaults__

# The most that counts as the least size of an element, so that its product with a count of 31 bits fits 64 bits.
cdef int64_t MAX_MIN_SIZE = 1 << 31

# Depth of structs within structs that the kernel follows, so that recursion has an end.
cdef enum:
    MAX_DEPTH = 100
    # Structs in the default of a lazy struct that is written out once, to be compared with.
    MAX_DEFAULT_STRUCTS = 1000

class NotServed(Exception):
    """A class that the kernel leaves to its generated code."""


@cython.no_gc_clear  # struct plans point into the arena
cdef class Codec:
    """The compiled form of one class, kept in the class. Without a struct plan the class is not served."""

    def __cinit__(self, cls):
        self.cls = cls
        self.arena = []
        self.conversions = {}


cdef inline Codec codec_of(cls):
    """The codec of a message's class, made when first asked for."""
    cdef PyObject* found = lookup(<PyObject*>cls, <PyObject*>"_codec")
    cdef Codec codec
    if found != NULL and type_of(found) == <PyTypeObject*>Codec and (<Codec>found).cls is cls:  # not inherited
        codec = <Codec>found
        release(found)
        return codec
    release(found)
    return make_codec(cls)


cdef Codec make_codec(cls):
    """Make the codec of a class that has none yet. If several threads make a codec, all use the first."""
    from kipwire.description.plan import NoPlanError, plan_of  # the first message alone has to wait for it

    try:
        plan = plan_of(cls)
        codec = compile_codec(plan, {})
        codec.plan = plan
    except (NotServed, NoPlanError):
        codec = Codec(cls)
    with init_lock:
        found = vars(cls).get("_codec")
        if isinstance(found, Codec) and (<Codec>found).cls is cls:
            return found
        cls._codec = codec  # which is whole, and is not changed any more
    return codec


cdef Codec compile_codec(plan, dict codecs):
    """Make the codec of a plan. `codecs` has the existing codecs of the structs in it, by class."""
    cdef StructPlan* compiled
    if plan.cls in codecs:
        return codecs[plan.cls]
    if plan.depth > MAX_DEPTH:
        raise NotServed
    require_generated_codec(plan.cls)
    codec = Codec(plan.cls)
    compiled = <StructPlan*>arena_alloc(codec.arena, 1, sizeof(StructPlan))
    compiled.type = <PyTypeObject*><PyObject*>plan.cls
    compiled.items = <Item*>arena_alloc(codec.arena, len(plan.items), sizeof(Item))
    compiled.tagged = <Item*>arena_alloc(codec.arena, len(plan.tagged), sizeof(Item))
    compiled.declared = <int64_t*>arena_alloc(codec.arena, len(plan.declared_tags), sizeof(int64_t))
    compiled.flexible = plan.flexible
    compiled.is_plain = plan.is_plain
    if plan.flexible:
        compiled.unknown_slot = offset(plan.cls, "_unknown_tagged_fields")
    for planned in plan.items:
        compile_item(&compiled.items[compiled.item_count], planned, plan.cls, codecs, codec.arena)
        compiled.is_plain = compiled.is_plain and is_plain_within(&compiled.items[compiled.item_count])
        compiled.item_count += 1
    for planned in plan.tagged:
        compile_item(&compiled.tagged[compiled.tagged_count], planned, plan.cls, codecs, codec.arena)
        compiled.is_plain = compiled.is_plain and is_plain_within(&compiled.tagged[compiled.tagged_count])
        compiled.tagged_count += 1
    for tag in plan.declared_tags:
        compiled.declared[compiled.declared_count] = tag
        compiled.declared_count += 1
    if not plan.is_plain:
        compile_extras(compiled, plan, codec.arena)
    if WITHOUT_GIL:
        compiled.slots = slots_of(plan.cls, codec.arena, &compiled.slot_count)
    codec.compiled = compiled
    codecs[plan.cls] = codec
    install_dealloc(plan.cls)
    return codec


cdef int compile_item(Item* item, planned, cls, dict codecs, list arena) except -1:
    """Compile an item, except its `extras`. What the item points to goes into `arena`."""
    for name in UNKNOWN_PROPERTIES:
        if getattr(planned.field, name) != DEFAULTS.get(name):  # a number of 0 may be one that the spec gives
            raise NotServed
    item.tag = -1 if planned.tag is None else planned.tag
    if planned.role in ROLES:
        item.kind = ROLES[planned.role]
        if item.kind != SIZE:
            return 0
    if planned.kind not in KINDS:
        raise NotServed
    item.element, item.bits, item.min_size = KINDS[planned.kind]
    if planned.kind in INTEGERS:
        bits = item.bits if item.bits else 8 * item.min_size
        item.high = (1 << bits if planned.kind in UNSIGNED else 1 << bits - 1) - 1
        item.low = 0 if planned.kind in UNSIGNED else ~item.high
    if item.kind == SIZE:
        return 0
    item.kind = item.element
    item.nullable = planned.nullable
    if planned.array:
        item.kind = SECTION if planned.field.sized or planned.prefix == "rest" else ARRAY
        item.count, item.size = PREFIXES[planned.prefix], PREFIXES[planned.element_prefix]
    else:
        item.size = PREFIXES[planned.prefix]
        if item.kind == STRUCT and item.nullable:
            item.kind = NULLABLE_STRUCT
    attribute = find(cls, planned.name)
    item.lazy = isinstance(attribute, LazyStruct)
    item.slot = offset(cls, attribute.slot if item.lazy else planned.name)
    item.default = <PyObject*>planned.default
    arena.append(planned.default)
    if planned.plan is not None:
        codec = compile_codec(planned.plan, codecs)
        arena.append(codec)
        item.plan = codec.compiled
        item.min_size = min(planned.plan.minimum_size, MAX_MIN_SIZE)
        if item.lazy and not planned.plan.has_floats and planned.plan.default_structs <= MAX_DEFAULT_STRUCTS:
            default_bytes = bytes_of(codec, planned.plan.cls())
            arena.append(default_bytes)
            item.default_bytes = <PyObject*>default_bytes
    if item.kind == SECTION and item.min_size == 0:
        raise NotServed  # no number of bytes says how many there are
    if item.element == UUID:
        init_uuid()
    if item.tag >= 0 and item.kind in (FLOAT64, UUID):
        # Defaults of other types are compared by Python's rules, these by their content.
        if type(planned.default) is not (float if item.kind == FLOAT64 else <object>uuid_type):
            raise NotServed
    return 0


cdef inline bint is_plain_within(const Item* item) noexcept:
    return item.plan == NULL or item.plan.is_plain


cdef void* arena_alloc(list arena, Py_ssize_t count, size_t size) except NULL:
    """Zeroed memory for a number of items; it lives as long as the arena."""
    cdef Py_ssize_t total
    if not is_size(max(count, 1), size, 0, &total):
        raise MemoryError
    block = bytearray(total)
    arena.append(block)
    return PyByteArray_AS_STRING(<PyObject*>block)


cdef void* alloc_items(Py_ssize_t count, size_t size) noexcept:
    """Uninitialized memory for a number of items; NULL without memory."""
    cdef Py_ssize_t total
    return PyMem_Malloc(total) if is_size(count, size, 0, &total) else NULL


cdef find(cls, name):
    """Look up a name in a class and its bases, without calling descriptors."""
    for base in cls.__mro__:
        if name in vars(base):
            return vars(base)[name]
    raise NotServed


cdef Py_ssize_t offset(cls, name) except -1:
    """Find the offset of a slot's value in instances."""
    descriptor = find(cls, name)
    at = slot_offset(<PyObject*>cls, <PyObject*>name, <PyObject*>descriptor)
    if at < 0:
        raise NotServed
    return at


cdef int install_dealloc(cls) except -1:
    """Have instances of a class freed without a search for what to free, if they are their slots alone."""
    if has_only_slots(cls):
        free_by_slots(<PyTypeObject*><PyObject*>cls, <PyTypeObject*><PyObject*>Field)
    return 0


cdef bint has_only_slots(cls) except -1:
    """True if instances have only slots after their header."""
    cdef Py_ssize_t size = sizeof(PyObject) + len(slot_offsets(cls)) * sizeof(PyObject*)
    return size == cls.__basicsize__ and not cls.__weakrefoffset__


cdef Py_ssize_t* slots_of(cls, list arena, Py_ssize_t* count) except NULL:
    """All slots that instances keep values in, which `snapshot` copies."""
    cdef Py_ssize_t* slots
    found = slot_offsets(cls)
    slots = <Py_ssize_t*>arena_alloc(arena, len(found), sizeof(Py_ssize_t))
    count[0] = 0
    for at in sorted(found):
        slots[count[0]] = at
        count[0] += 1
    return slots


cdef set slot_offsets(cls):
    """Find the offsets of the slots of a class and its bases."""
    found = {
        slot_offset(<PyObject*>cls, <PyObject*>name, <PyObject*>descriptor)
        for base in cls.__mro__
        for name, descriptor in vars(base).copy().items()  # which other threads add to
        if type(name) is str
    }
    return found - {-1}


cdef int require_generated_codec(cls) except -1:
    """Check that only generated code decides how a class reads and writes.

    A user's subclass may override the codec; such a class is left to Python.
    """
    if cls.__setattr__ is not object.__setattr__ or cls.__getattribute__ is not object.__getattribute__:
        raise NotServed
    if cls.__dictoffset__ or type(cls) is not type or not is_plain(<PyTypeObject*><PyObject*>cls):
        raise NotServed  # instances are then more than their slots, or made otherwise
    for base in cls.__mro__:
        codec = {name for name in CODEC_NAMES if name in vars(base)}
        if "FIELDS" in codec:
            return 0
        if codec:
            raise NotServed
    raise NotServed


# What a generated class reads and writes with.
CODEC_NAMES = frozenset("""
    FIELDS FLEXIBLE OTHER_TAGS _read _read_tagged_field _write _tagged_fields
    """.split())


# The slots of uuid.UUID, looked up when a class with UUIDs is first compiled.
cdef PyTypeObject* uuid_type = NULL
cdef Py_ssize_t uuid_number_slot
cdef Py_ssize_t uuid_safety_slot
cdef PyObject* uuid_safety


cdef int init_uuid() except -1:
    global uuid_number_slot, uuid_safety_slot, uuid_safety
    if is_set(&uuid_type):
        return 0
    import uuid

    with init_lock:
        if uuid_type != NULL:
            return 0
        uuid_number_slot = offset(uuid.UUID, "int")
        uuid_safety_slot = offset(uuid.UUID, "is_safe")
        uuid_safety = <PyObject*>uuid.SafeUUID.unknown
        incref(uuid_safety)
        incref(<PyObject*>uuid.UUID)
        store_release(&uuid_type, <PyTypeObject*><PyObject*>uuid.UUID)
    return 0
