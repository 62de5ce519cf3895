# Projections compiled to programs: for each struct a list of ops, which skip unselected fields, or select a value. One
# run serves both directions: it makes objects of the selected values, or copies all other bytes around new ones.

cdef enum OpKind:
    OP_FIXED  # neighbours of fixed width, as one
    OP_TEXT
    OP_BLOB
    OP_PACKED
    OP_FIXED_ELEMENTS
    OP_ELEMENTS  # an array of other primitives
    OP_STRUCT
    OP_NULLABLE_STRUCT
    OP_STRUCTS

cdef enum:
    # Lists that are made at once, one for each chosen field and each array around it: they stay on the stack.
    MAX_BUFFERS = 128

cdef struct Op:
    OpKind kind
    # Of neighbours of fixed width: the bytes of all, and where there are bools in them.
    Py_ssize_t width
    Py_ssize_t* bools
    Py_ssize_t bool_count
    const Item* item
    Program* program
    # The buffer of a selected value, or -1.
    Py_ssize_t selected
    # Of a struct or an array of structs: the buffers of what is selected in it, and those within an array.
    Py_ssize_t* outer
    Py_ssize_t* inner
    Py_ssize_t buffer_count
    # Of a tagged field: the bytes of its default; NULL where equal values may have other bytes, or it is too large.
    PyObject* default_bytes

cdef struct Program:
    const StructPlan* plan
    Op* ops
    Py_ssize_t op_count
    # Like the items of the plan's tag section.
    Op* tagged
    bint chooses_tagged
    # Bytes of the whole struct, if all values take as many and any bytes are valid; else 0.
    Py_ssize_t width

# Where the values of one selected field go, or come from, at one depth of arrays: like a column without a type.
cdef struct ValueBuffer:
    PyObject** start
    PyObject** next
    PyObject* given
    Py_ssize_t at

cdef struct Context:
    ValueBuffer* buffers
    # NULL where values are read.
    Output* out
    # The first byte that was not copied yet.
    const uint8_t* copied
    # The copies of lists that are given, which other threads may change; only without a GIL.
    PyObject* copies


cdef class Projector:
    """The compiled form of the chosen fields of one class.

    Every method returns None where the kernel gives up, and Python does the work.
    """

    cdef Codec codec
    cdef list arena
    cdef Program* root
    cdef Py_ssize_t column_count
    cdef Py_ssize_t buffer_count

    def __cinit__(self, cls, dict choice, Py_ssize_t count):
        """`choice` has the number of each chosen field, or what is chosen in it, by name.

        Raises:
            NotServed: the kernel does not serve this class, or not so many fields.
        """
        self.codec = codec_of(cls)
        if self.codec.compiled == NULL or self.codec.plan is None or not self.codec.compiled.is_plain:
            raise NotServed
        self.arena = []
        self.column_count = self.buffer_count = count
        buffers = {number: number for number in range(count)}
        self.root = compile_program(self, self.codec.plan, self.codec.compiled, choice, buffers, {})
        if self.buffer_count > MAX_BUFFERS:
            raise NotServed

    def decode(self, data):
        cdef Cursor cursor
        if type(data) is not bytes:
            data = content_of(data)
        values = project(self, data, 0, &cursor)
        return values if values is not None and cursor.at == cursor.end else None

    def read(self, data, offset):
        cdef Cursor cursor
        cdef int64_t at
        if type(data) is not bytes:
            data = content_of(data)
        if not as_number(<PyObject*>offset, &at) or not 0 <= at <= PyBytes_GET_SIZE(<PyObject*>data):
            return None
        values = project(self, data, at, &cursor)
        if values is None or not may_have(cursor.at - cursor.start, cursor.empty_elements):
            return None
        return values, at + (cursor.at - cursor.start)

    def replace(self, data, values, offset, bint whole):
        """Return the bytes with other values. `whole` is true if the message must take all of them."""
        cdef Cursor cursor
        cdef Output out
        cdef uint8_t stack[STACK]
        cdef int64_t at
        cdef bint done
        if type(data) is not bytes:
            data = content_of(data)
        if not as_number(<PyObject*>offset, &at) or not 0 <= at <= PyBytes_GET_SIZE(<PyObject*>data):
            return None
        values = list(values)
        if len(values) != self.column_count:
            return None
        open_bytes(<PyObject*>data, at, &cursor)
        open_output(&out, stack, STACK, False)
        done = left(&cursor) <= STACK or grow(&out, PyBytes_GET_SIZE(<PyObject*>data))  # about as much as it will be
        done = done and put_bytes(&out, PyBytes_AS_STRING(<PyObject*>data), at)
        done = done and put_projected(self, values, &cursor, &out)
        if done and (cursor.at == cursor.end if whole else put_bytes(&out, <const char*>cursor.at, left(&cursor))):
            return steal(close_output(&out))
        discard_output(&out)
        PyErr_Clear()
        return None


def projector(cls, choice, count):
    """The projector of chosen fields; None where the kernel does not serve them."""
    try:
        return Projector(cls, choice, count)
    except NotServed:
        return None


cdef Program* compile_program(
    Projector self, plan, const StructPlan* compiled, choice, buffers, dict programs
) except NULL:
    """The program of a struct, whose chosen fields have buffers. `programs` has the programs without any."""
    cdef Program* program
    cdef Op* op
    cdef Op* before
    if not choice and plan.cls in programs:
        return <Program*>PyByteArray_AS_STRING(<PyObject*>programs[plan.cls])
    program = <Program*>arena_alloc(self.arena, 1, sizeof(Program))
    block = self.arena[len(self.arena) - 1]
    program.plan = compiled
    program.ops = <Op*>arena_alloc(self.arena, len(plan.items), sizeof(Op))
    program.tagged = <Op*>arena_alloc(self.arena, len(plan.tagged), sizeof(Op))
    for number, planned in enumerate(plan.items):
        op = &program.ops[program.op_count]
        compile_op(self, op, planned, &compiled.items[<Py_ssize_t>number], choice, buffers, programs)
        before = op - 1 if program.op_count else NULL
        if before != NULL and is_fixed(before) and is_fixed(op):
            merge_fixed(before, op, self.arena)
            continue
        program.op_count += 1
    for number, planned in enumerate(plan.tagged):
        op = &program.tagged[<Py_ssize_t>number]
        compile_op(self, op, planned, &compiled.tagged[<Py_ssize_t>number], choice, buffers, programs)
        compile_default(self, op, planned)
        program.chooses_tagged = program.chooses_tagged or planned.name in choice
    if not compiled.flexible and program.op_count == 1:
        if is_fixed(program.ops) and program.ops.bool_count == 0:
            program.width = program.ops[0].width
    if not choice:
        programs[plan.cls] = block
    return program


cdef int compile_op(Projector self, Op* op, planned, const Item* item, choice, buffers, programs) except -1:
    chosen = choice.get(planned.name, {})
    op.item = item
    op.selected = -1
    if item.kind >= SECTION:
        raise NotServed
    if item.kind == ARRAY:
        if item.element == STRUCT:
            op.kind = OP_STRUCTS
        else:
            op.kind = OP_FIXED_ELEMENTS if BOOL < item.element <= UUID else OP_ELEMENTS
    elif item.kind == STRUCT or item.kind == NULLABLE_STRUCT:
        op.kind = OP_STRUCT if item.kind == STRUCT else OP_NULLABLE_STRUCT
    elif item.kind == STRING or item.kind == BYTES:
        op.kind = OP_TEXT if item.kind == STRING else OP_BLOB
    elif item.kind <= UUID:
        op.kind, op.width = OP_FIXED, item.min_size
        op.bools = <Py_ssize_t*>arena_alloc(self.arena, 1, sizeof(Py_ssize_t))
        op.bool_count = item.kind == BOOL
    else:
        op.kind = OP_PACKED
    if type(chosen) is int:
        op.selected = buffers[chosen]
        chosen = {}
    inner = {}
    if chosen:
        columns = columns_in(chosen)
        op.outer = <Py_ssize_t*>arena_alloc(self.arena, len(columns), sizeof(Py_ssize_t))
        op.inner = <Py_ssize_t*>arena_alloc(self.arena, len(columns), sizeof(Py_ssize_t))
        for column in columns:
            inner[column] = buffers[column]
            if op.kind == OP_STRUCTS:
                inner[column] = self.buffer_count
                self.buffer_count += 1
            op.outer[op.buffer_count], op.inner[op.buffer_count] = buffers[column], inner[column]
            op.buffer_count += 1
    if planned.plan is not None:
        op.program = compile_program(self, planned.plan, item.plan, chosen, inner, programs)
    return 0


cdef list columns_in(choice):
    """The numbers of the fields that are chosen, at any depth."""
    found = []
    for chosen in choice.values():
        found += [chosen] if type(chosen) is int else columns_in(chosen)
    return found


cdef inline bint is_fixed(const Op* op) noexcept nogil:
    """True if an op skips a fixed number of bytes."""
    return op.kind == OP_FIXED and op.selected < 0


cdef int merge_fixed(Op* op, const Op* following, list arena) except -1:
    """Make one op of two that skip neighbours of fixed width."""
    cdef Py_ssize_t* bools
    if following.bool_count:
        bools = <Py_ssize_t*>arena_alloc(arena, op.bool_count + 1, sizeof(Py_ssize_t))
        memcpy(bools, op.bools, op.bool_count * sizeof(Py_ssize_t))
        bools[op.bool_count] = op.width
        op.bools = bools
        op.bool_count += 1
    op.width += following.width
    return 0


cdef int compile_default(Projector self, Op* op, planned) except -1:
    """Set the bytes of a tagged field's default."""
    cdef Output out
    cdef uint8_t stack[STACK]
    if op.item.kind == FLOAT64 and planned.default is not None and planned.default != planned.default:
        raise NotServed  # NaN is not equal to itself, so that writing never leaves the field out
    if not op.item.lazy or op.item.default_bytes != NULL:
        value = planned.field.default_value()
        open_output(&out, stack, STACK, False)
        if put_item(op.item, <PyObject*>value, &out):
            content = steal(close_output(&out))
            self.arena.append(content)
            op.default_bytes = <PyObject*>content
        else:
            discard_output(&out)
            PyErr_Clear()
    if op.default_bytes == NULL and (op.buffer_count or op.selected >= 0):
        raise NotServed
    return 0
