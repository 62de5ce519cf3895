# Projections as the kernel walks them: for each struct the hops over what nobody chose, and what was chosen. One walk
# serves both directions: it makes objects of the chosen values, or copies all other bytes around new ones.

cdef enum Op:
    HOP_FIXED  # neighbours of fixed width, as one
    HOP_TEXT
    HOP_BLOB
    HOP_PACKED
    HOP_FIXED_ELEMENTS
    HOP_ELEMENTS  # an array of other primitives
    HOP_STRUCT
    HOP_NULLABLE_STRUCT
    HOP_STRUCTS

cdef enum:
    # Lists that are made at once, one for each chosen field and each array around it: they stay on the stack.
    MAX_LANES = 128

cdef struct Hop:
    Op op
    # Of neighbours of fixed width: the bytes of all, and where there are bools in them.
    Py_ssize_t width
    Py_ssize_t* bools
    Py_ssize_t bool_count
    const Item* item
    Walk* walk
    # The lane of a chosen value, or -1.
    Py_ssize_t leaf
    # Of a struct or an array of structs: the lanes of what is chosen in it, and those within an array.
    Py_ssize_t* outer
    Py_ssize_t* inner
    Py_ssize_t lane_count
    # Of a tagged field: the bytes of its default; NULL where equal values may have other bytes, or it is too large.
    PyObject* default_bytes

cdef struct Walk:
    const Form* form
    Hop* hops
    Py_ssize_t hop_count
    # Like the items of the form's tag section.
    Hop* tagged
    bint chooses_tagged
    # The bytes of all of it, if that is the same for all values and any bytes are right; else 0.
    Py_ssize_t width

# Where the values of one chosen field go, or come from, at one depth of arrays.
cdef struct Lane:
    PyObject** start
    PyObject** next
    PyObject* given
    Py_ssize_t at

cdef struct Visit:
    Lane* lanes
    # NULL where values are read.
    Output* out
    # The first byte that was not copied yet.
    const uint8_t* copied
    # The copies of lists that are given, which other threads may change; only without a GIL.
    PyObject* own


cdef class Projector:
    """What the kernel has made of the chosen fields of one class.

    Every method returns None where the kernel gives up, and Python does the work.
    """

    cdef Codec codec
    cdef list kept
    cdef Walk* root
    cdef Py_ssize_t column_count
    cdef Py_ssize_t lane_count

    def __cinit__(self, cls, dict choice, Py_ssize_t count):
        """`choice` has the number of each chosen field, or what is chosen in it, by name.

        Raises:
            NotServed: the kernel does not serve this class, or not so many fields.
        """
        self.codec = codec_of(cls)
        if self.codec.form == NULL or self.codec.plan is None or not self.codec.form.is_plain:
            raise NotServed
        self.kept = []
        self.column_count = self.lane_count = count
        self.root = made_walk(self, self.codec.plan, self.codec.form, choice, {n: n for n in range(count)}, {})
        if self.lane_count > MAX_LANES:
            raise NotServed

    def decode(self, data):
        cdef Cursor cursor
        if type(data) is not bytes:
            data = content_of(data)
        values = projected(self, data, 0, &cursor)
        return values if values is not None and cursor.at == cursor.end else None

    def read(self, data, offset):
        cdef Cursor cursor
        cdef int64_t at
        if type(data) is not bytes:
            data = content_of(data)
        if not as_number(<PyObject*>offset, &at) or not 0 <= at <= PyBytes_GET_SIZE(<PyObject*>data):
            return None
        values = projected(self, data, at, &cursor)
        if values is None or not may_have(cursor.at - cursor.start, cursor.empty_elements):
            return None
        return values, at + (cursor.at - cursor.start)

    def replace(self, data, values, offset, bint whole):
        """The bytes with other values. `whole` says whether the message must take all of them."""
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
        open_bytes(data, at, &cursor)
        open_output(&out, stack, STACK, False)
        done = left(&cursor) <= STACK or grow(&out, PyBytes_GET_SIZE(<PyObject*>data))  # about as much as it will be
        done = done and put_bytes(&out, PyBytes_AS_STRING(<PyObject*>data), at) and put_projected(self, values, &cursor, &out)
        if done and (cursor.at == cursor.end if whole else put_bytes(&out, <const char*>cursor.at, left(&cursor))):
            return owned(close_output(&out))
        abandon_output(&out)
        PyErr_Clear()
        return None


cdef Walk* made_walk(Projector self, plan, const Form* form, choice, lanes, dict walks) except NULL:
    """The walk of a struct, for whose chosen fields there are lanes. `walks` has those of structs without any."""
    cdef Walk* walk
    cdef Hop* hop
    if not choice and plan.cls in walks:
        return <Walk*>PyByteArray_AS_STRING(<PyObject*>walks[plan.cls])
    walk = <Walk*>memory(self.kept, 1, sizeof(Walk))
    block = self.kept[len(self.kept) - 1]
    walk.form = form
    walk.hops = <Hop*>memory(self.kept, len(plan.items), sizeof(Hop))
    walk.tagged = <Hop*>memory(self.kept, len(plan.tagged), sizeof(Hop))
    for number, planned in enumerate(plan.items):
        hop = &walk.hops[walk.hop_count]
        fill_hop(self, hop, planned, &form.items[<Py_ssize_t>number], choice, lanes, walks)
        if hop.op == HOP_FIXED and hop.leaf < 0 and walk.hop_count and walk.hops[walk.hop_count - 1].leaf < 0:
            if walk.hops[walk.hop_count - 1].op == HOP_FIXED:
                join(&walk.hops[walk.hop_count - 1], hop, self.kept)
                continue
        walk.hop_count += 1
    for number, planned in enumerate(plan.tagged):
        hop = &walk.tagged[<Py_ssize_t>number]
        fill_hop(self, hop, planned, &form.tagged[<Py_ssize_t>number], choice, lanes, walks)
        fill_default(self, hop, planned)
        walk.chooses_tagged = walk.chooses_tagged or planned.name in choice
    if not form.flexible and walk.hop_count == 1:
        if walk.hops[0].op == HOP_FIXED and walk.hops[0].leaf < 0 and walk.hops[0].bool_count == 0:
            walk.width = walk.hops[0].width
    if not choice:
        walks[plan.cls] = block
    return walk


cdef int fill_hop(Projector self, Hop* hop, planned, const Item* item, choice, lanes, walks) except -1:
    chosen = choice.get(planned.name, {})
    hop.item = item
    hop.leaf = -1
    if item.kind >= SECTION:
        raise NotServed
    if item.kind == ARRAY:
        if item.element == STRUCT:
            hop.op = HOP_STRUCTS
        else:
            hop.op = HOP_FIXED_ELEMENTS if BOOL < item.element <= UUID else HOP_ELEMENTS
    elif item.kind == STRUCT or item.kind == NULLABLE_STRUCT:
        hop.op = HOP_STRUCT if item.kind == STRUCT else HOP_NULLABLE_STRUCT
    elif item.kind == STRING or item.kind == BYTES:
        hop.op = HOP_TEXT if item.kind == STRING else HOP_BLOB
    elif item.kind <= UUID:
        hop.op, hop.width = HOP_FIXED, item.least
        hop.bools = <Py_ssize_t*>memory(self.kept, 1, sizeof(Py_ssize_t))
        hop.bool_count = item.kind == BOOL
    else:
        hop.op = HOP_PACKED
    if type(chosen) is int:
        hop.leaf = lanes[chosen]
        chosen = {}
    inner = {}
    if chosen:
        columns = columns_in(chosen)
        hop.outer = <Py_ssize_t*>memory(self.kept, len(columns), sizeof(Py_ssize_t))
        hop.inner = <Py_ssize_t*>memory(self.kept, len(columns), sizeof(Py_ssize_t))
        for column in columns:
            inner[column] = lanes[column]
            if hop.op == HOP_STRUCTS:
                inner[column] = self.lane_count
                self.lane_count += 1
            hop.outer[hop.lane_count], hop.inner[hop.lane_count] = lanes[column], inner[column]
            hop.lane_count += 1
    if planned.plan is not None:
        hop.walk = made_walk(self, planned.plan, item.form, chosen, inner, walks)
    return 0


cdef list columns_in(choice):
    """The numbers of the fields that are chosen, at any depth."""
    found = []
    for chosen in choice.values():
        found += [chosen] if type(chosen) is int else columns_in(chosen)
    return found


cdef int join(Hop* hop, const Hop* following, list kept) except -1:
    """Make one hop of two over neighbours of fixed width."""
    cdef Py_ssize_t* bools
    if following.bool_count:
        bools = <Py_ssize_t*>memory(kept, hop.bool_count + 1, sizeof(Py_ssize_t))
        memcpy(bools, hop.bools, hop.bool_count * sizeof(Py_ssize_t))
        bools[hop.bool_count] = hop.width
        hop.bools = bools
        hop.bool_count += 1
    hop.width += following.width
    return 0


cdef int fill_default(Projector self, Hop* hop, planned) except -1:
    """Set the bytes of a tagged field's default."""
    cdef Output out
    cdef uint8_t stack[STACK]
    if hop.item.kind == FLOAT64 and planned.default is not None and planned.default != planned.default:
        raise NotServed  # NaN is not equal to itself, so that writing never leaves the field out
    if not hop.item.lazy or hop.item.default_bytes != NULL:
        value = planned.field.default_value()
        open_output(&out, stack, STACK, False)
        if put_item(hop.item, <PyObject*>value, &out):
            content = owned(close_output(&out))
            self.kept.append(content)
            hop.default_bytes = <PyObject*>content
        else:
            abandon_output(&out)
            PyErr_Clear()
    if hop.default_bytes == NULL and (hop.lane_count or hop.leaf >= 0):
        raise NotServed
    return 0
