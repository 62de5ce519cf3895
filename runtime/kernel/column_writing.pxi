# From columns to bytes, by the rules of writing.pxi. Every function tells whether it could; it could not where a value is
# wrong, and also where one is right but unusual, such as unknown tags in another order: the generated code then looks.

cdef bint put_struct(const Fields* fields, Py_ssize_t row, Output* out) noexcept:
    cdef Py_ssize_t i, j
    cdef const Step* step
    cdef uint8_t* p
    for i in range(fields.step_count):
        step = &fields.steps[i]
        if step.column != NULL:
            if not put_value(step.column, row, out):
                return False
            continue
        p = put(out, step.width)
        if p == NULL:
            return False
        for j in range(step.part_count):
            if not load(step.parts[j].column, row, p + step.parts[j].at):
                return False
    return not fields.form.flexible or put_tag_section(fields, row, out)


cdef bint put_value(const Column* column, Py_ssize_t row, Output* out) noexcept:
    """A value of a field: the field's own, or one element of its array."""
    cdef uint8_t* p
    cdef bint null = is_null(column, row)
    if column.kind == NULLABLE_STRUCT:
        p = put(out, 1)
        if p == NULL:
            return False
        p[0] = 1 if not null else 255 if column.field.tag < 0 else 0
        return null or put_struct(column.fields, row, out)
    if null:
        return column.nullable and write_null(column.field, 2 if column.kind == STRING else 4, out)
    if column.kind == STRING:
        return put_string(column, row, out)
    elif column.kind == ARRAY:
        return put_array(column, row, out)
    elif column.kind == STRUCT:
        return put_struct(column.fields, row, out)
    elif column.kind == BYTES:
        return put_content(column, row, 4, out)
    elif column.kind > UUID:
        return write_packed(column.field, number_at(column, row), out)
    p = put(out, column.wire_width)
    return p != NULL and load(column, row, p)


cdef inline bint load(const Column* column, Py_ssize_t row, uint8_t* p) noexcept:
    """A value of fixed width. None of them may be null."""
    if is_null(column, row):
        return False
    if column.store == STORE_32:
        store_32(p, (<const uint32_t*>column.values)[row])
    elif column.store == STORE_16:
        store_16(p, (<const uint16_t*>column.values)[row])
    elif column.store == STORE_64:
        store_64(p, (<const uint64_t*>column.values)[row])
    elif column.store == STORE_8:
        p[0] = column.values[row]
    else:
        return load_otherwise(column, row, p)
    return True


cdef bint load_otherwise(const Column* column, Py_ssize_t row, uint8_t* p) noexcept:
    cdef int64_t number
    if column.store == STORE_BIT:
        p[0] = bit_at(column.values, column.first_bit + row)
        return True
    if column.store == STORE_128:
        memcpy(p, column.values + 16 * row, 16)
        return True
    number = number_at(column, row)
    if column.wire_width == 2:
        store_16(p, <uint32_t>number)
        return number == <int16_t>number
    store_32(p, <uint32_t>number)
    return number == <int32_t>number


cdef inline bint bit_at(const uint8_t* bits, Py_ssize_t at) noexcept:
    return bits[at >> 3] >> (at & 7) & 1


cdef inline bint is_null(const Column* column, Py_ssize_t row) noexcept:
    return column.validity != NULL and not bit_at(column.validity, column.first_bit + row)


cdef inline int64_t number_at(const Column* column, Py_ssize_t row) noexcept:
    """A number of a type that KIP-625 has encodings of."""
    if column.width == 4:
        return (<const int32_t*>column.values)[row]
    elif column.width == 8:
        return (<const int64_t*>column.values)[row]
    return (<const int16_t*>column.values)[row]


cdef inline bint slice_of(const Column* column, Py_ssize_t row, Py_ssize_t limit, int64_t* size) noexcept:
    """How many bytes or elements the value of a row has. Whether its offsets make sense."""
    cdef int64_t start = column.offsets[row], end = column.offsets[row + 1]
    size[0] = end - start
    return 0 <= start <= end <= limit


cdef bint put_array(const Column* column, Py_ssize_t row, Output* out) noexcept:
    cdef int64_t count
    cdef Py_ssize_t i, first = column.offsets[row]
    if not slice_of(column, row, column.elements.count, &count):
        return False
    if column.field.least == 0:
        out.empty_elements += count
    if not write_length(column.field, 4, count, out):
        return False
    if column.fields == NULL and column.parts.kind <= UUID:
        return put_run(column.parts, first, count, out)
    for i in range(first, first + count):
        if not (put_value(column.parts, i, out) if column.fields == NULL else put_struct(column.fields, i, out)):
            return False
    return True


cdef bint put_run(const Column* elements, Py_ssize_t first, Py_ssize_t count, Output* out) noexcept:
    cdef Py_ssize_t i
    cdef uint8_t* p = put(out, count * elements.wire_width)
    if p == NULL:
        return False
    for i in range(count):
        if not load(elements, first + i, p + i * elements.wire_width):
            return False
    return True


cdef bint put_string(const Column* column, Py_ssize_t row, Output* out) noexcept:
    cdef int64_t size
    if not slice_of(column, row, column.content_size, &size) or size > MAX_STRING:
        return False
    return is_utf8(column.content + column.offsets[row], size) and put_content(column, row, 2, out)


cdef bint put_content(const Column* column, Py_ssize_t row, int width, Output* out) noexcept:
    """Bytes behind their length, of which a classic one has so many bytes."""
    cdef int64_t size
    return (
        slice_of(column, row, column.content_size, &size)
        and write_length(column.field, width, size, out)
        and put_bytes(out, <const char*>column.content + column.offsets[row], size)
    )


cdef bint put_tag_section(const Fields* fields, Py_ssize_t row, Output* out) noexcept:
    """The tagged fields that are not at their defaults and the unknown ones, merged in the order of their tags."""
    cdef Py_ssize_t count_at = written(out), before
    cdef Py_ssize_t i = 0, j = 0, last = 0
    cdef int64_t size = 0, previous = -1
    cdef uint64_t count = 0
    cdef const Column* unknown = fields.unknown
    if unknown.wanted and not is_null(unknown, row):
        if not slice_of(unknown, row, unknown.elements.count, &size):
            return False
        j = unknown.offsets[row]
    last = j + size
    if size == 0 and fields.form.tagged_count == 0:
        return put_varint(out, 0)
    if put(out, 1) == NULL:
        return False
    while i < fields.form.tagged_count or j < last:
        before = written(out)
        if j == last or (i < fields.form.tagged_count and fields.form.tagged[i].tag < number_at(unknown.parts, j)):
            if fields.tagged[i].wanted and not put_tagged_field(&fields.tagged[i], row, out):
                return False
            i += 1
        else:
            if not put_unknown_field(fields, j, &previous, out):
                return False
            j += 1
        count += written(out) > before
    return insert_varint(out, count_at, count)


cdef bint put_unknown_field(const Fields* fields, Py_ssize_t entry, int64_t* previous, Output* out) noexcept:
    cdef const Column* contents = &fields.unknown.parts[1]
    cdef int64_t tag = number_at(fields.unknown.parts, entry), size
    if tag <= previous[0] or is_declared(fields.form, tag):
        return False
    if is_null(contents, entry) or not slice_of(contents, entry, contents.content_size, &size):
        return False
    previous[0] = tag
    return (
        put_varint(out, tag)
        and put_varint(out, size)
        and put_bytes(out, <const char*>contents.content + contents.offsets[entry], size)
    )


cdef bint put_tagged_field(const Column* column, Py_ssize_t row, Output* out) noexcept:
    """A known field with its tag and its size; nothing where it has its default."""
    cdef Py_ssize_t start = written(out), size_at
    cdef bint null = is_null(column, row)
    if column.null_by_default if null else is_default_at(column, row):
        return True
    if not put_varint(out, column.field.tag):
        return False
    size_at = written(out)
    if put(out, 1) == NULL or not put_value(column, row, out):
        return False
    if column.field.lazy and not null:
        if column.field.default_bytes == NULL:
            return False
        if ends_with(out, size_at + 1 + column.field.nullable, column.field.default_bytes):
            out.at = out.start + start
            return True
    return insert_varint(out, size_at, written(out) - size_at - 1)


cdef bint is_default_at(const Column* column, Py_ssize_t row) noexcept:
    """Whether a value, which is not null, is the default. Of structs that is not known before they are written."""
    cdef int64_t size
    cdef double value, default
    if column.null_by_default or column.kind == STRUCT or column.kind == NULLABLE_STRUCT:
        return False
    if column.offsets != NULL:
        size = column.offsets[row + 1] - column.offsets[row]
        if column.kind != STRING:
            return size == 0
        return size == column.default_size and slice_of(column, row, column.content_size, &size) and memcmp(
            column.content + column.offsets[row], column.default_content, size
        ) == 0
    if column.kind == BOOL:
        return bit_at(column.values, column.first_bit + row) == column.default_value[0]
    if column.kind == FLOAT64:  # 0.0 and -0.0 are equal
        memcpy(&value, column.values + 8 * row, 8)
        memcpy(&default, column.default_value, 8)
        return value == default
    return memcmp(column.values + column.width * row, column.default_value, column.width) == 0


# Columns of an Arrow array, which are looked at where they are.

cdef int look_at(Tree tree, Column* column, parts) except -1:
    """Point a column to the buffers of an array.

    `parts` are its number of values, the number of the first one in its buffers, the buffers, and the same of the
    arrays in it.

    Raises:
        ValueError: a buffer or an array in it is shorter than the array says.
    """
    cdef Py_ssize_t count, first, width = column.width
    count, first, buffers, children = parts
    if count == 0:
        return 0
    column.first_bit = first
    if buffers[0] is not None:
        column.validity = viewed(tree, buffers[0], bits_size(first + count), NULL)
    if column.kind == STRUCT or column.kind == NULLABLE_STRUCT:
        return look_at_fields(tree, column.fields, children, count)
    if column.kind == ARRAY or column.kind == STRING or column.kind == BYTES:
        column.offsets = <int32_t*>viewed(tree, buffers[1], 4 * (first + count + 1), NULL) + first
        if column.kind != ARRAY:
            column.content = viewed(tree, buffers[2], 0, &column.content_size)
            return 0
        (elements,) = children
        column.elements.count = elements[0]
        if column.fields != NULL:
            return look_at_fields(tree, column.fields, elements[3], elements[0])
        if column.part_count == 1:
            return look_at(tree, column.parts, elements)
        for part, tags_or_contents in enumerate(elements[3]):
            look_at(tree, &column.parts[<Py_ssize_t>part], tags_or_contents)
        return 0
    if column.kind == BOOL:
        column.values = viewed(tree, buffers[1], bits_size(first + count), NULL)
    else:
        column.values = viewed(tree, buffers[1], width * (first + count), NULL) + width * first
    return 0


cdef int look_at_fields(Tree tree, Fields* fields, children, Py_ssize_t count) except -1:
    cdef Py_ssize_t i
    for i in range(fields.wanted_count):
        if children[i][0] < count:
            raise ValueError("a column has fewer values than there are structs")
        look_at(tree, fields.wanted[i], children[i])
    return 0


cdef uint8_t* viewed(Tree tree, source, Py_ssize_t least, Py_ssize_t* size) except NULL:
    """Where a buffer starts, which must have so many bytes at least."""
    cdef View view
    view = View(b"" if source is None else source)
    tree.kept.append(view)
    if view.buffer.len < least:
        raise ValueError(f"a buffer has {view.buffer.len} bytes where {least} are needed")
    if size != NULL:
        size[0] = view.buffer.len
    return <uint8_t*>view.buffer.buf


def write_columns(cls, wanted, parts):
    """Write the rows of a struct array.

    Args:
        cls: the class of the messages.
        wanted: the columns that are there, in the order of the spec: each its name, and the same of those in it or
            None.
        parts: the array's number of values, the number of the first one in its buffers, its buffers, and the same of
            its columns.

    Returns:
        The number of the row that the generated code has to look at, or -1; and the rows' offsets and bytes.

    Raises:
        NotServed: the kernel does not write this class.
        OverflowError: all rows together have more bytes than offsets can tell of.
        ValueError: a buffer is shorter than its array says.
    """
    cdef Tree tree = Tree(cls, wanted)
    cdef Py_ssize_t row, before, count = parts[0]
    cdef Output out
    cdef uint8_t stack[STACK]
    cdef int32_t* ends
    tree.given = True
    look_at(tree, &tree.root, parts)
    offsets = bytearray(4 * (count + 1))
    ends = <int32_t*>PyByteArray_AS_STRING(<PyObject*>offsets)
    open_output(&out, stack, STACK, False)
    for row in range(count):
        before = written(&out)
        out.empty_elements = 0
        if not is_null(&tree.root, row) and not (
            put_struct(tree.root.fields, row, &out) and may_have(written(&out) - before, out.empty_elements)
        ):
            abandon_output(&out)
            PyErr_Clear()
            return row, None, None
        if written(&out) > MAX_OFFSET:
            abandon_output(&out)
            raise OverflowError
        ends[row + 1] = <int32_t>written(&out)
    return -1, offsets, owned(close_output(&out))
