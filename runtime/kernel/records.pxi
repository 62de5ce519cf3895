# The records of a batch of magic 2, from and to instances of `kipwire.records.Record`, with offsets and timestamps that
# are absolute at once. The format is written out here and in record_columns.pxi, as what a plan says at run time costs
# more than it saves: of 1,000 records without headers and with two, walking the plan of kafka_records' Records takes
# 15 % and 24 % longer to read and 120 % and 38 % to write, and filling columns by the general code of columns.pxi 35 %
# and 50 %.

# The offset of a record that is not in a partition yet, as `kipwire.records.model.NO_OFFSET`.
cdef enum:
    NO_OFFSET = -1
    RECORD_SLOTS = 5

cdef struct RecordSlots:
    PyTypeObject* type
    Py_ssize_t offset
    Py_ssize_t timestamp
    Py_ssize_t key
    Py_ssize_t value
    Py_ssize_t headers
    # All of them.
    Py_ssize_t slots[RECORD_SLOTS]

cdef RecordSlots record_slots
# The class of keys of headers whose bytes are not UTF-8, and its slot.
cdef PyTypeObject* raw_key_type
cdef Py_ssize_t raw_key_slot


cdef int init_record() except -1:
    if is_set(&record_slots.type):
        return 0
    global raw_key_type, raw_key_slot
    Record, RawHeaderKey = python["Record"], python["RawHeaderKey"]
    with init_lock:
        if record_slots.type != NULL:
            return 0
        record_slots.slots[0] = record_slots.offset = offset(Record, "offset")
        record_slots.slots[1] = record_slots.timestamp = offset(Record, "timestamp")
        record_slots.slots[2] = record_slots.key = offset(Record, "key")
        record_slots.slots[3] = record_slots.value = offset(Record, "value")
        record_slots.slots[4] = record_slots.headers = offset(Record, "headers")
        install_dealloc(Record)
        incref(<PyObject*>Record)
        incref(<PyObject*>RawHeaderKey)
        raw_key_type, raw_key_slot = <PyTypeObject*><PyObject*>RawHeaderKey, offset(RawHeaderKey, "_raw")
        store_release(&record_slots.type, <PyTypeObject*><PyObject*>Record)
    return 0


def read_records(bytes data not None, base_offset, base_timestamp):
    cdef int64_t first_offset, first_timestamp
    init_record()
    if as_number(<PyObject*>base_offset, &first_offset) and as_number(<PyObject*>base_timestamp, &first_timestamp):
        records = read_until_end(data, first_offset, first_timestamp)
        if records is not None:
            return records
    return python["read_records"](data, base_offset, base_timestamp)


cdef read_until_end(bytes data, int64_t first_offset, int64_t first_timestamp):
    """The records in bytes, with offsets and timestamps counted from the bases; None where the bytes are not valid."""
    cdef Cursor cursor
    cdef PyObject* record
    cdef bint was_collecting, failed
    open_bytes(<PyObject*>data, 0, &cursor)
    records = []
    was_collecting = pause_collector()
    while left(&cursor):
        record = read_record(first_offset, first_timestamp, NULL, &cursor)
        failed = record == NULL or PyList_Append(<PyObject*>records, record) < 0
        xdecref(record)
        if failed:
            PyErr_Clear()
            records = None
            break
    resume_collector(was_collecting)
    return records


cdef PyObject* read_counted(
    int64_t count, int64_t base_offset, int64_t base_timestamp, PyObject* append_time, Cursor* cursor
) noexcept:
    """A list of `count` records, which end where the cursor ends; `append_time` is their timestamp, unless NULL."""
    cdef PyObject** records
    cdef PyObject* found = NULL
    cdef Py_ssize_t i
    cdef bint was_collecting
    if not 0 <= count <= left(cursor) // MIN_RECORD_SIZE:
        return NULL
    if count == 0:
        return PyList_New(0) if left(cursor) == 0 else NULL
    records = <PyObject**>alloc_items(count, sizeof(PyObject*))
    if records == NULL:
        return NULL
    was_collecting = pause_collector()
    for i in range(count):
        records[i] = read_record(base_offset, base_timestamp, append_time, cursor)
        if records[i] == NULL:
            found = discard_elements(records, i)
            break
    else:
        found = list_of(records, count) if left(cursor) == 0 else discard_elements(records, count)
    resume_collector(was_collecting)
    return found  # released by discard_elements or list_of


def has_more_items(bytes data not None, int64_t most):
    cdef Cursor cursor
    cdef const uint8_t* end
    cdef const uint8_t* skipped
    cdef int64_t length, number, size, count = 0
    cdef int i
    open_bytes(<PyObject*>data, 0, &cursor)
    end = cursor.end
    while cursor.at < end:
        cursor.end = end
        if not take_length(VARINT_PREFIX, &cursor, &length) or not 0 <= length <= left(&cursor):
            return False
        cursor.end = cursor.at + length
        if not take(&cursor, 1, &skipped):
            return False
        if not take_zigzag(&cursor, 64, &number) or not take_zigzag(&cursor, 32, &number):
            return False
        for i in range(2):  # key and value
            if not take_zigzag(&cursor, 32, &size) or (size > 0 and not take(&cursor, size, &skipped)):
                return False
        if not take_zigzag(&cursor, 32, &number) or number < 0:
            return False
        count += 1 + number
        if count > most:
            return True
        cursor.at = cursor.end
    return False


cdef PyObject* read_record(
    int64_t base_offset, int64_t base_timestamp, PyObject* append_time, Cursor* cursor
) noexcept:
    cdef PyObject* item = new_instance(record_slots.type, 0)
    if item == NULL or not read_record_into(item, base_offset, base_timestamp, append_time, cursor):
        xdecref(item)
        return NULL
    return item


cdef bint read_record_into(
    PyObject* item, int64_t base_offset, int64_t base_timestamp, PyObject* append_time, Cursor* outer
) noexcept:
    cdef Cursor cursor = outer[0]  # nothing else has the address of the copy, so that it stays in registers
    cdef const uint8_t* attributes
    cdef int64_t length, delta, offset, timestamp
    cdef PyObject* value
    if not take_length(VARINT_PREFIX, &cursor, &length) or not 0 <= length <= left(&cursor):
        return False
    cursor.end = cursor.at + length
    if not take(&cursor, 1, &attributes):
        return False
    if not take_zigzag(&cursor, 64, &delta) or not is_sum(base_timestamp, delta, &timestamp):
        return False
    if not take_zigzag(&cursor, 32, &delta) or not is_sum(base_offset, delta, &offset):
        return False
    value = new_int(timestamp) if append_time == NULL else new_ref(append_time)
    slot_of(item, record_slots.timestamp)[0] = value
    if value == NULL:
        return False
    value = new_int(offset)
    slot_of(item, record_slots.offset)[0] = value
    if value == NULL:
        return False
    value = read_blob(VARINT_PREFIX, True, &cursor)
    slot_of(item, record_slots.key)[0] = value
    if value == NULL:
        return False
    value = read_blob(VARINT_PREFIX, True, &cursor)
    slot_of(item, record_slots.value)[0] = value
    if value == NULL:
        return False
    if not take_length(VARINT_PREFIX, &cursor, &length):
        return False
    outer.at = cursor.end
    value = read_headers(length, cursor)
    slot_of(item, record_slots.headers)[0] = value
    return value != NULL


cdef inline bint is_sum(int64_t base, int64_t delta, int64_t* total) noexcept nogil:
    """Add up. True if the total has at most 64 bits."""
    total[0] = <int64_t>(<uint64_t>base + <uint64_t>delta)
    return (base ^ total[0]) & (delta ^ total[0]) >= 0


cdef inline PyObject* read_headers(int64_t count, Cursor cursor) noexcept:
    """Headers up to the cursor's end, as a list of pairs."""
    if count == 0:
        return PyList_New(0) if cursor.at == cursor.end else NULL
    return read_some_headers(count, cursor)


cdef PyObject* read_some_headers(int64_t count, Cursor cursor) noexcept:
    cdef PyObject** headers
    cdef PyObject* key
    cdef Py_ssize_t i
    if count < 0 or not can_hold(&cursor, count, 2):  # two sizes each
        return NULL
    headers = <PyObject**>alloc_items(count, sizeof(PyObject*))
    if headers == NULL:
        return NULL
    for i in range(count):
        key = read_header_key(&cursor)
        headers[i] = new_pair(key, read_blob(VARINT_PREFIX, True, &cursor)) if key != NULL else NULL
        if headers[i] == NULL:
            return discard_elements(headers, i)
    return list_of(headers, count) if cursor.at == cursor.end else discard_elements(headers, count)


cdef inline PyObject* read_header_key(Cursor* cursor) noexcept:
    """A text, or the RawHeaderKey that stands for one."""
    cdef int64_t size
    cdef const uint8_t* p
    cdef PyObject* key
    if not take_blob(VARINT_PREFIX, False, cursor, &p, &size):
        return NULL
    key = text_of(p, size)
    return key if is_likely(key != NULL) else new_raw_key(p, size)


cdef PyObject* new_raw_key(const uint8_t* p, Py_ssize_t size) noexcept:
    """A RawHeaderKey for bytes that are not UTF-8, else NULL. No Python code runs meanwhile."""
    cdef Py_ssize_t text_size
    cdef uint8_t* utf8
    cdef PyObject* raw
    cdef PyObject* text
    cdef PyObject* key
    if is_utf8(p, size):
        return NULL
    PyErr_Clear()
    text_size = put_text_of_any(p, size, NULL)
    utf8 = <uint8_t*>PyMem_Malloc(text_size)
    if utf8 == NULL:
        return NULL
    put_text_of_any(p, size, utf8)
    text = PyUnicode_DecodeUTF8(<const char*>utf8, text_size, NULL)
    PyMem_Free(utf8)
    key = NULL if text == NULL else text_of_class(raw_key_type, text)
    xdecref(text)
    raw = NULL if key == NULL else PyBytes_FromStringAndSize(<const char*>p, size)
    if raw == NULL:
        xdecref(key)
        return NULL
    slot_of(key, raw_key_slot)[0] = raw
    return key


cdef PyObject* new_pair(PyObject* key, PyObject* value) noexcept:
    """A tuple of two values, whose references the tuple takes over; NULL where the second is NULL."""
    cdef PyObject* pair = PyTuple_New(2) if value != NULL else NULL
    if pair == NULL:
        decref(key)
        xdecref(value)
        return NULL
    PyTuple_SET_ITEM(pair, 0, key)
    PyTuple_SET_ITEM(pair, 1, value)
    return pair


def write_records(list records not None, base_offset, base_timestamp):
    cdef int64_t first_offset, first_timestamp
    init_record()
    if WITHOUT_GIL:
        records = records[:]  # a private list, whose elements stay alive
    if as_number(<PyObject*>base_offset, &first_offset) and as_number(<PyObject*>base_timestamp, &first_timestamp):
        data = write_all(records, first_offset, first_timestamp)
        if data is not None:
            return data
    return python["write_records"](records, base_offset, base_timestamp)


cdef write_all(list records, int64_t first_offset, int64_t first_timestamp):
    """The bytes of records, with deltas counted from the bases; None if a record is unusual."""
    cdef Output out
    cdef uint8_t stack[STACK]
    cdef Py_ssize_t i
    open_output(&out, stack, STACK, False)
    for i in range(len(records)):
        if not write_record(PyList_GET_ITEM(<PyObject*>records, i), first_offset, first_timestamp, &out):
            discard_output(&out)
            PyErr_Clear()
            return None
    return steal(close_output(&out))


cdef inline bint write_record(PyObject* item, int64_t base_offset, int64_t base_timestamp, Output* out) noexcept:
    cdef PyObject* held
    cdef bint done
    if type_of(item) != record_slots.type:
        return False
    held = snapshot(item, record_slots.type, record_slots.slots, RECORD_SLOTS)
    done = held != NULL and write_record_snapshot(held, base_offset, base_timestamp, out)
    release_snapshot(held, record_slots.slots, RECORD_SLOTS)
    return done


cdef bint write_record_snapshot(PyObject* item, int64_t base_offset, int64_t base_timestamp, Output* out) noexcept:
    cdef Py_ssize_t at = out.at - out.start
    cdef int64_t offset_delta, timestamp_delta, size
    cdef uint8_t* p = put(out, 2)  # the size, and attributes without meaning as yet
    if p == NULL:
        return False
    p[1] = 0
    if not delta_of(item, record_slots.timestamp, base_timestamp, &timestamp_delta):
        return False
    if not delta_of(item, record_slots.offset, base_offset, &offset_delta) or offset_delta != <int32_t>offset_delta:
        return False
    if not put_zigzag(out, timestamp_delta) or not put_zigzag(out, offset_delta):
        return False
    if not put_blob(slot_of(item, record_slots.key)[0], out) or not put_blob(slot_of(item, record_slots.value)[0], out):
        return False
    if not put_headers(slot_of(item, record_slots.headers)[0], out):
        return False
    size = out.at - out.start - at - 1
    return set_length(VARINT_PREFIX, at, size, out)


cdef inline bint delta_of(PyObject* item, Py_ssize_t slot, int64_t base, int64_t* delta) noexcept:
    """Compute the distance of an attribute from its base; true if it has at most 64 bits."""
    cdef PyObject* value = slot_of(item, slot)[0]
    cdef int64_t number
    return value != NULL and as_number(value, &number) and is_difference(number, base, delta)


cdef inline bint is_difference(int64_t number, int64_t base, int64_t* delta) noexcept nogil:
    """Subtract. True if the difference has at most 64 bits."""
    delta[0] = <int64_t>(<uint64_t>number - <uint64_t>base)
    return (number ^ base) & (number ^ delta[0]) >= 0


cdef inline bint put_blob(PyObject* value, Output* out) noexcept:
    if value == None_:
        return put_length(VARINT_PREFIX, -1, out)
    return value != NULL and write_blob(VARINT_PREFIX, value, out)


cdef bint put_headers(PyObject* headers, Output* out) noexcept:
    cdef PyObject* pair
    cdef Py_ssize_t i
    if headers == NULL or not PyList_CheckExact(headers):
        return False
    if not put_length(VARINT_PREFIX, PyList_GET_SIZE(headers), out):
        return False
    for i in range(PyList_GET_SIZE(headers)):
        pair = PyList_GET_ITEM(headers, i)
        if not PyTuple_CheckExact(pair) or PyTuple_GET_SIZE(pair) != 2:
            return False
        if not write_text(VARINT_PREFIX, PyTuple_GET_ITEM(pair, 0), out):
            if not write_raw_key(PyTuple_GET_ITEM(pair, 0), out):
                return False
        if not put_blob(PyTuple_GET_ITEM(pair, 1), out):
            return False
    return True


cdef bint write_raw_key(PyObject* key, Output* out) noexcept:
    cdef PyObject* raw
    cdef bint done
    if type_of(key) != raw_key_type:
        return False
    raw = load_slot(key, raw_key_slot)
    done = raw != NULL and write_blob(VARINT_PREFIX, raw, out)
    release(raw)
    return done


def ordered_records(records, magic, base_offset=None):
    init_record()
    records = list(records)
    return records if are_in_order(records) else python["ordered_records"](records, magic, base_offset)


cdef bint are_in_order(list records) noexcept:
    """True if all are records of the exact class, with ints for numbers and with offsets that strictly ascend."""
    cdef PyObject* item
    cdef int64_t offset, timestamp, before = 0
    cdef Py_ssize_t i
    for i in range(len(records)):
        item = PyList_GET_ITEM(<PyObject*>records, i)
        if type_of(item) != record_slots.type or not number_in(item, record_slots.timestamp, &timestamp):
            return False
        if not number_in(item, record_slots.offset, &offset) or offset == NO_OFFSET or (i and offset <= before):
            return False
        before = offset
    return True


cdef inline bint number_in(PyObject* item, Py_ssize_t slot, int64_t* number) noexcept:
    """Read a number from an attribute. True if the attribute is an int of at most 64 bits."""
    cdef PyObject* value = load_slot(item, slot)
    cdef bint done = value != NULL and as_number(value, number)
    release(value)
    return done
