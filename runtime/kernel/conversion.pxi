# From a message of one version to the same message of another. A pair of classes has moves: each says which slot of the
# new class gets what, and from which slot of the old class. As elsewhere the good path alone: where a value would be
# lost, or is unusual, a function gives NULL, and Python converts the message.

cdef enum MoveKind:
    # The value itself, which is immutable, such as a number.
    SHARE
    # A list of such values, in a new list.
    COPY_LIST
    CONVERT_STRUCT
    CONVERT_LIST
    # A struct that is made on first use, and may not have been made.
    CONVERT_LAZY
    # What only the new version has: a default, or a new list.
    FILL
    FILL_LIST
    # What only the old version has, and must have its default.
    EXPECT_DEFAULT
    # What only the old version has, of any value.
    EXPECT_VALUE

cdef struct Move:
    MoveKind kind
    Py_ssize_t source
    Py_ssize_t target
    # Whether null may be moved.
    bint nullable
    # What fills a slot, or is expected in one.
    PyObject* value
    Moves* within

cdef struct Moves:
    PyTypeObject* source
    PyTypeObject* target
    # Where unknown tagged fields are; -1 where there can be none.
    Py_ssize_t source_unknown
    Py_ssize_t target_unknown
    # All slots of the source; only without a GIL.
    Py_ssize_t* slots
    Py_ssize_t slot_count
    Move* moves
    Py_ssize_t count


cdef object message_type = Message

@cython.no_gc_clear  # moves point into the arena
cdef class Conversion:
    """A compiled pair of classes: messages of the first are converted to the second."""

    # NULL where Python converts.
    cdef Moves* compiled
    # Whether the message is of that version already.
    cdef bint changes_nothing
    # Memory of the moves, and references to all objects that moves point to.
    cdef list arena

    def __cinit__(self):
        self.arena = []


def convert(message, version, *, lost=None, strict=False):
    cdef Conversion conversion
    cdef PyObject* result
    cdef bint was_collecting
    if lost is None and strict is False and is_message(type_of(<PyObject*>message)):
        conversion = conversion_to(codec_of(type(message)), version)
        if conversion.changes_nothing:
            return message
        if conversion.compiled != NULL:
            was_collecting = pause_collector()
            result = convert_struct(conversion.compiled, <PyObject*>message)
            resume_collector(was_collecting)
            if result != NULL:
                return steal(result)
            PyErr_Clear()
    return python["convert"](message, version, lost=lost, strict=strict)


cdef inline bint is_message(PyTypeObject* cls) noexcept:
    return PyType_IsSubtype(cls, <PyTypeObject*><PyObject*>message_type)


cdef inline Conversion conversion_to(Codec codec, version):
    """The conversion of messages of a codec's class to a version, or to a class; none where Python converts."""
    if type(version) is not int and not isinstance(version, type):
        return Conversion()
    found = codec.conversions.get(version)
    return make_conversion(codec, version) if found is None else found


cdef Conversion make_conversion(Codec codec, version):
    """Make a missing conversion. If several threads make a conversion, all use the first."""
    from kipwire.description.fields import in_version  # which no other first use has to wait for
    from kipwire.message.shapes import shapes_between

    conversion = Conversion()
    try:
        target = in_version(codec.cls, version) if type(version) is int else version
    except UnsupportedVersionError:
        return conversion
    conversion.changes_nothing = target is codec.cls
    if not is_message(<PyTypeObject*><PyObject*>target) or target.NAME != codec.cls.NAME:
        return conversion
    if shapes_between(codec.cls, target) is None and is_served(codec) and is_served(codec_of(target)):
        try:
            conversion.compiled = compile_moves(codec.cls, target, {}, conversion.arena)
        except NotServed:
            pass
    with init_lock:
        return codec.conversions.setdefault(version, conversion)


cdef bint is_served(Codec codec) except -1:
    """True if a class has only attributes, and its `__init__` only sets them."""
    if codec.compiled == NULL or not codec.compiled.is_plain:
        return False
    return next("FIELDS" in vars(base) for base in codec.cls.__mro__ if "__init__" in vars(base))


cdef Moves* compile_moves(source, target, dict made, list arena) except NULL:
    """The moves from one class of structs to another. `made` has the addresses of existing moves, by both classes."""
    cdef Moves* compiled
    if (source, target) in made:
        return <Moves*><size_t>made[source, target]
    compiled = <Moves*>arena_alloc(arena, 1, sizeof(Moves))
    compiled.source = <PyTypeObject*><PyObject*>source
    compiled.target = <PyTypeObject*><PyObject*>target
    arena += (source, target)
    compiled.source_unknown = offset(source, "_unknown_tagged_fields") if source.FLEXIBLE else -1
    compiled.target_unknown = offset(target, "_unknown_tagged_fields") if target.FLEXIBLE else -1
    if WITHOUT_GIL:
        compiled.slots = slots_of(source, arena, &compiled.slot_count)
    theirs = {field.spec_name: field for field in source.ATTRIBUTES}
    ours = {field.spec_name for field in target.ATTRIBUTES}
    dropped = [field for field in source.ATTRIBUTES if field.spec_name not in ours]
    compiled.moves = <Move*>arena_alloc(arena, len(target.ATTRIBUTES) + len(dropped), sizeof(Move))
    for field in target.ATTRIBUTES:
        compiled.moves[compiled.count].target = offset(target, field.slot)
        if field.spec_name in theirs:
            compile_move(&compiled.moves[compiled.count], source, theirs[field.spec_name], field, made, arena)
        else:
            compile_fill(&compiled.moves[compiled.count], field, arena)
        compiled.count += 1
    for field in dropped:
        compiled.moves[compiled.count].kind = EXPECT_VALUE if field.ignorable else EXPECT_DEFAULT
        compiled.moves[compiled.count].source = offset(source, field.slot)
        set_value(&compiled.moves[compiled.count], DEFAULT if field.is_lazy else field.default, arena)
        compiled.count += 1
    made[source, target] = <size_t>compiled
    return compiled


cdef int compile_move(Move* move, source, theirs, ours, dict made, list arena) except -1:
    """Compile the move of a field that both versions have."""
    from kipwire.description.fields import is_narrow

    if is_narrow(ours) or theirs.array != ours.array or (theirs.struct is None) != (ours.struct is None):
        raise NotServed
    if theirs.is_lazy != ours.is_lazy:
        raise NotServed
    move.source = offset(source, theirs.slot)
    move.nullable = ours.nullable
    if ours.struct is not None:
        move.kind = CONVERT_LIST if ours.array else CONVERT_LAZY if ours.is_lazy else CONVERT_STRUCT
        move.within = compile_moves(theirs.struct, ours.struct, made, arena)
    else:
        move.kind = COPY_LIST if ours.array else SHARE
    return 0


cdef int compile_fill(Move* move, field, list arena) except -1:
    """Compile how a slot is filled whose field only the new version has."""
    from kipwire.description.fields import is_required

    if field.array and field.default == ():
        move.kind = FILL_LIST
        return 0
    if not field.is_lazy and (field.default == () or is_required(field)):
        raise NotServed
    move.kind = FILL
    return set_value(move, DEFAULT if field.is_lazy else field.default, arena)


cdef int set_value(Move* move, value, list arena) except -1:
    arena.append(value)
    move.value = <PyObject*>value
    return 0


cdef PyObject* convert_struct(const Moves* moves, PyObject* instance) noexcept:
    """A struct in the other version; a new reference, or NULL."""
    cdef PyObject* held
    cdef PyObject* result = NULL
    if type_of(instance) != moves.source:
        return NULL
    held = snapshot(instance, moves.source, moves.slots, moves.slot_count)
    if held != NULL:
        result = convert_snapshot(moves, held)
    release_snapshot(held, moves.slots, moves.slot_count)
    return result


cdef inline PyObject* convert_snapshot(const Moves* moves, PyObject* held) noexcept:
    cdef PyObject* result
    cdef PyObject* value
    cdef const Move* move = moves.moves
    cdef const Move* end = move + moves.count
    if moves.source_unknown >= 0 and not is_nothing(slot_of(held, moves.source_unknown)[0]):
        return NULL
    result = new_instance(moves.target, 0)
    if result == NULL:
        return NULL
    while move < end:
        if move.kind == EXPECT_DEFAULT:
            value = move.value if is_expected(slot_of(held, move.source)[0], move.value) else NULL
        elif move.kind == EXPECT_VALUE:
            value = slot_of(held, move.source)[0]
        else:
            value = moved(move, held)
            slot_of(result, move.target)[0] = value
        if value == NULL:
            decref(result)
            return NULL
        move += 1
    if moves.target_unknown >= 0:
        slot_of(result, moves.target_unknown)[0] = new_ref(None_)
    return result


cdef inline PyObject* moved(const Move* move, PyObject* held) noexcept:
    """Make the value for a slot of the new struct; a new reference, or NULL."""
    cdef PyObject* value
    if move.kind == FILL:
        return new_ref(move.value)
    if move.kind == FILL_LIST:
        return PyList_New(0)
    value = slot_of(held, move.source)[0]
    if value == NULL or value == None_ and not move.nullable:
        return NULL
    if move.kind == SHARE or value == None_:
        return new_ref(value)
    if move.kind == COPY_LIST:
        return copy_list(value) if PyList_CheckExact(value) else NULL
    if move.kind == CONVERT_LIST:
        return convert_list(move.within, value) if PyList_CheckExact(value) else NULL
    if value == LAZY:
        return new_ref(LAZY) if move.kind == CONVERT_LAZY else NULL
    return convert_struct(move.within, value)


cdef inline PyObject* copy_list(PyObject* items) noexcept:
    """A list of the same elements, in fewer steps than a slice takes."""
    cdef Py_ssize_t i, count = PyList_GET_SIZE(items)
    cdef PyObject** elements
    if count == 0:
        return PyList_New(0)
    elements = <PyObject**>alloc_items(count, sizeof(PyObject*))
    if elements == NULL:
        return NULL
    for i in range(count):
        elements[i] = new_ref(PyList_GET_ITEM(items, i))
    return list_of(elements, count)


cdef PyObject* convert_list(const Moves* moves, PyObject* items) noexcept:
    cdef Py_ssize_t i, count = PyList_GET_SIZE(items)
    cdef PyObject** elements
    if count == 0:
        return PyList_New(0)
    elements = <PyObject**>alloc_items(count, sizeof(PyObject*))
    if elements == NULL:
        return NULL
    for i in range(count):
        elements[i] = convert_struct(moves, PyList_GET_ITEM(items, i))
        if elements[i] == NULL:
            return discard_elements(elements, i)
    return list_of(elements, count)


cdef inline bint is_nothing(PyObject* unknown) noexcept:
    """True if there are no unknown tagged fields; False where the attribute was deleted."""
    return unknown != NULL and (unknown == None_ or PyDict_CheckExact(unknown) and PyDict_Size(unknown) == 0)


cdef inline bint is_expected(PyObject* value, PyObject* default) noexcept:
    """True if a value is certainly the default: the same object or number, or empty like the default."""
    cdef int64_t number, expected
    if value == default:
        return True
    if value == NULL:
        return False
    if as_number(value, &number):
        return as_number(default, &expected) and number == expected
    if PyList_CheckExact(value):
        return PyTuple_CheckExact(default) and PyList_GET_SIZE(value) == 0
    return False
