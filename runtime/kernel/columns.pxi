# Arrow columns while they are filled: a tree of C structs for each call, made from the struct plan of a class.

# As Arrow's Status: why columns cannot be filled where the bytes are not at fault.
cdef enum Status:
    STATUS_OK
    OUT_OF_MEMORY
    CAPACITY_ERROR

static_assert(STATUS_OK == 0)  # of a call whose memory is zeroed

# How a value of fixed width gets from the wire into its column.
cdef enum Store:
    STORE_32
    STORE_16
    STORE_64
    STORE_8
    STORE_NOTHING
    STORE_BIT
    STORE_128
    # A number with fewer bytes on the wire than in its column (KIP-625).
    STORE_WIDER

cdef enum:
    # The most that an Arrow offset of 32 bits can address.
    MAX_OFFSET = 0x7FFFFFFF
    # The least capacity of columns that have a row.
    MIN_CAPACITY = 64

# What all columns of a call share.
cdef struct Call:
    Status status
    # Bytes of the messages up to the current one, and of all.
    int64_t done
    int64_t total

# What has a value in each of some columns: messages, or the elements of an array, with the structs in them.
cdef struct Rows:
    Py_ssize_t count
    Py_ssize_t capacity
    # Those that are wanted.
    Column** columns
    Py_ssize_t column_count
    Call* call

# One column. Its values have a fixed width (of bools, a bit), or are what lies between two offsets.
cdef struct Column:
    # The item, or the array whose elements these are; NULL for what unknown tagged fields are made of.
    const Item* item
    # What one value is; in a column of elements, what one element is.
    Kind kind
    bint nullable
    # Whether the column is asked for. If not, its bytes are only checked.
    bint wanted
    Store store
    # Bytes of a value of fixed width on the wire and in the column.
    Py_ssize_t wire_width
    Py_ssize_t width
    # Bits; NULL while no value is null.
    uint8_t* validity
    uint8_t* values
    # Of a column that is given: the position of its first row's bit.
    Py_ssize_t first_bit
    # Where each value ends in the content or among the elements; a 0 comes before the first.
    int32_t* offsets
    uint8_t* content
    Py_ssize_t content_size
    Py_ssize_t content_capacity
    # The rows that have a value here.
    Rows* rows
    # Of a struct or an array of structs.
    Fields* fields
    # Rows of an array's elements, or of the tags and contents of unknown tagged fields.
    Rows elements
    # The column of elements that are not structs, or the columns of tags and contents of unknown tagged fields.
    Column* parts
    Py_ssize_t part_count
    # What a tagged field is when it is left out.
    bint null_by_default
    uint8_t default_value[MAX_SCALAR_SIZE]
    const char* default_content
    Py_ssize_t default_size

# One value of a run of values of fixed width.
cdef struct StepPart:
    Py_ssize_t at
    Column* column

# What is read at once: a column, or, where there is none, a run of values of fixed width.
cdef struct Step:
    Column* column
    Py_ssize_t width
    StepPart* parts
    Py_ssize_t part_count

# The columns of a struct.
cdef struct Fields:
    const StructPlan* plan
    Step* steps
    Py_ssize_t step_count
    # All columns: of positional fields, of tagged ones in the order of their tags, and of unknown ones.
    Column* columns
    Py_ssize_t column_count
    Column* tagged
    # NULL where the struct is not flexible.
    Column* unknown
    # Those that are wanted, in the order of the spec.
    Column** wanted
    Py_ssize_t wanted_count

STORES = {0: STORE_BIT, 1: STORE_8, 2: STORE_16, 4: STORE_32, 8: STORE_64, 16: STORE_128}

def serves_columns(cls):
    """True if the kernel fills columns from this class of messages; false for record formats."""
    cdef Codec codec = codec_of(cls)
    return codec.compiled != NULL and codec.compiled.is_plain


@cython.no_gc_clear  # columns lie in the arena
cdef class Tree:
    """The columns of one call. What has been filled and is not handed out is freed with it."""

    cdef Codec codec
    # What the columns lie in and what they point to.
    cdef list arena
    # True if the columns point to borrowed buffers, which `View` holds.
    cdef bint borrows
    cdef Column root
    cdef Rows rows
    cdef Call call

    def __cinit__(self, cls, wanted):
        """`wanted` are the columns in the order of the spec: each its name, and the columns in it or None."""
        self.codec = codec_of(cls)
        if not serves_columns(cls):
            raise NotServed
        self.arena = []
        self.rows.call = &self.call
        self.root.kind = STRUCT
        self.root.wanted = self.root.nullable = True
        self.root.rows = &self.rows
        below = [<size_t>&self.root]
        self.root.fields = self.made_fields(self.codec.compiled, self.codec.plan, wanted, &self.rows, below)
        self.set_columns(&self.rows, below)

    def __dealloc__(self):
        if not self.borrows:
            free_column(&self.root)

    cdef int set_columns(self, Rows* rows, list below) except -1:
        """Set the columns of rows, which are given by their addresses."""
        cdef size_t address
        rows.columns = <Column**>arena_alloc(self.arena, len(below), sizeof(Column*))
        for address in below:
            rows.columns[rows.column_count] = <Column*>address
            rows.column_count += 1
        return 0

    cdef Fields* made_fields(self, const StructPlan* compiled, plan, wanted, Rows* rows, list below) except NULL:
        """The columns of a struct; `wanted` is None where none is. Those that are go into `below`, too."""
        cdef Fields* fields = <Fields*>arena_alloc(self.arena, 1, sizeof(Fields))
        cdef Column* column
        cdef Py_ssize_t i
        types = {field.name: field.element for field in plan.cls.ATTRIBUTES}
        chosen = dict(wanted or ())
        by_name = {}
        fields.plan = compiled
        fields.column_count = compiled.item_count + compiled.tagged_count + compiled.flexible
        fields.columns = <Column*>arena_alloc(self.arena, fields.column_count, sizeof(Column))
        fields.tagged = &fields.columns[compiled.item_count]
        for i, planned in enumerate(plan.items + plan.tagged):
            column = &fields.columns[i]
            column.item = &compiled.items[i] if i < compiled.item_count else &compiled.tagged[i - compiled.item_count]
            column.wanted = planned.name in chosen
            column.rows = rows
            by_name[planned.name] = <size_t>column
            if column.wanted:
                below.append(<size_t>column)
            self.set_column(column, planned, types[planned.name], chosen.get(planned.name), below)
        if compiled.flexible:
            fields.unknown = column = &fields.columns[fields.column_count - 1]
            column.wanted = "unknown_tagged_fields" in chosen
            column.rows = rows
            by_name["unknown_tagged_fields"] = <size_t>column
            if column.wanted:
                below.append(<size_t>column)
            self.set_unknown(column)
        self.set_steps(fields)
        fields.wanted = <Column**>arena_alloc(self.arena, len(chosen), sizeof(Column*))
        for name in chosen:
            fields.wanted[fields.wanted_count] = <Column*><size_t>by_name[name]
            fields.wanted_count += 1
        return fields

    cdef int set_column(self, Column* column, planned, type_, wanted, list below) except -1:
        """Set up the column of a field, whose type in the spec is `type_`."""
        column.kind = column.item.kind
        column.nullable = column.item.nullable
        if column.kind == ARRAY:
            column.elements.call = column.rows.call
            below = []
            if planned.plan is not None:
                column.fields = self.made_fields(column.item.plan, planned.plan, wanted, &column.elements, below)
            else:
                column.part_count = 1
                column.parts = <Column*>arena_alloc(self.arena, 1, sizeof(Column))
                column.parts.item = column.item
                column.parts.kind = column.item.element
                column.parts.wanted = column.wanted
                column.parts.rows = &column.elements
                set_widths(column.parts, type_)
                if column.wanted:
                    below.append(<size_t>column.parts)
            self.set_columns(&column.elements, below)
        elif planned.plan is not None:
            column.fields = self.made_fields(column.item.plan, planned.plan, wanted, column.rows, below)
        else:
            set_widths(column, type_)
        self.init_default(column, planned.default, type_)
        return 0

    cdef int init_default(self, Column* column, default, type_) except -1:
        from kipwire.model.types import TYPES

        column.null_by_default = default is None
        if default is None or column.kind in (ARRAY, STRUCT, NULLABLE_STRUCT):
            return 0
        if column.kind in (STRING, BYTES):
            content = default.encode() if column.kind == STRING else bytes(default)
            column.default_content = PyBytes_AS_STRING(<PyObject*>content)
            column.default_size = len(content)
        elif column.kind == BOOL:
            content = bytes([default])
            column.default_value[0] = default
        else:
            content = packed(f"={TYPES[type_].code}", default.bytes if column.kind == UUID else default)
            memcpy(column.default_value, PyBytes_AS_STRING(<PyObject*>content), column.width)
        self.arena.append(content)
        return 0

    cdef int set_unknown(self, Column* column) except -1:
        """Set up the column of the unknown tagged fields: slices of a column of tags and one of contents."""
        cdef Py_ssize_t i
        column.kind = ARRAY
        column.elements.call = column.rows.call
        column.part_count = 2
        column.parts = <Column*>arena_alloc(self.arena, 2, sizeof(Column))
        column.parts[0].kind, column.parts[1].kind = INT32, BYTES
        column.parts[0].width = 4
        for i in range(2):
            column.parts[i].wanted = column.wanted
            column.parts[i].rows = &column.elements
        parts = [<size_t>&column.parts[0], <size_t>&column.parts[1]]
        self.set_columns(&column.elements, parts if column.wanted else [])
        return 0

    cdef int set_steps(self, Fields* fields) except -1:
        """Put the positional fields into steps: neighbours of fixed width are read at once."""
        cdef Py_ssize_t i, count = fields.plan.item_count
        cdef Column* column
        cdef Step* step = NULL
        fields.steps = <Step*>arena_alloc(self.arena, count, sizeof(Step))
        for i in range(count):
            column = &fields.columns[i]
            if column.kind > UUID:
                step = NULL
                fields.steps[fields.step_count].column = column
                fields.step_count += 1
                continue
            if step == NULL:
                step = &fields.steps[fields.step_count]
                step.parts = <StepPart*>arena_alloc(self.arena, count - i, sizeof(StepPart))
                fields.step_count += 1
            if column.store != STORE_NOTHING:
                step.parts[step.part_count].at = step.width
                step.parts[step.part_count].column = column
                step.part_count += 1
            step.width += column.wire_width
        return 0
