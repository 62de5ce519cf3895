# Batches of magic 2 to their bytes, in one call. What fails is left to the Python function that
# `write_batch` replaces.

# What goes into the head, in the order of the fields there.
cdef struct Head:
    int64_t base_offset
    int64_t leader_epoch
    int64_t attributes
    int64_t last_offset_delta
    int64_t base_timestamp
    int64_t max_timestamp
    int64_t producer_id
    int64_t producer_epoch
    int64_t base_sequence
    int64_t records_count
    # Records have no offsets yet, so each gets its position.
    bint by_position


def write_batch(
    records, *, compression="none", base_offset=None, last_offset_delta=None, base_timestamp=None, max_timestamp=None,
    timestamp_type="CreateTime", delete_horizon=None, partition_leader_epoch=-1, producer_id=-1, producer_epoch=-1,
    base_sequence=-1, is_transactional=False, is_control=False,
):
    cdef Head head
    cdef Py_ssize_t codec, time
    init_batches()
    codec, time = index_of(compression, known_codecs), index_of(timestamp_type, known_timestamp_types)
    if WITHOUT_GIL and type(records) is list:
        records = copy_records(records)
    if (
        type(records) is list
        and codec >= 0
        and time >= 0
        and (is_transactional is True or is_transactional is False)
        and (is_control is True or is_control is False)
        and as_number(<PyObject*>partition_leader_epoch, &head.leader_epoch)
        and as_number(<PyObject*>producer_id, &head.producer_id)
        and as_number(<PyObject*>producer_epoch, &head.producer_epoch)
        and as_number(<PyObject*>base_sequence, &head.base_sequence)
        and is_producer(&head, is_transactional is True, is_control is True)
        and scan_records(<PyObject*>records, &head)
        and as_given(<PyObject*>base_offset, &head.base_offset)
        and as_given(<PyObject*>base_timestamp, &head.base_timestamp)
        and as_given(<PyObject*>delete_horizon, &head.base_timestamp)
        and as_given(<PyObject*>max_timestamp, &head.max_timestamp)
        and spans_records(<PyObject*>records, base_offset is not None, <PyObject*>last_offset_delta, &head)
    ):
        head.attributes = codec
        head.attributes |= LOG_APPEND_TIME if time else 0
        head.attributes |= TRANSACTIONAL if is_transactional is True else 0
        head.attributes |= CONTROL if is_control is True else 0
        head.attributes |= DELETE_HORIZON if delete_horizon is not None else 0
        data = write_whole(records, compression, &head)
        if data is not None:
            return data
    return python["write_batch"](
        records, compression=compression, base_offset=base_offset, last_offset_delta=last_offset_delta,
        base_timestamp=base_timestamp, max_timestamp=max_timestamp, timestamp_type=timestamp_type,
        delete_horizon=delete_horizon, partition_leader_epoch=partition_leader_epoch, producer_id=producer_id,
        producer_epoch=producer_epoch, base_sequence=base_sequence, is_transactional=is_transactional,
        is_control=is_control,
    )


cdef list copy_records(list records):
    """Copy each record at one moment, so that the records that are checked are the records that are written."""
    cdef PyObject* held
    cdef PyObject* copied
    cdef Py_ssize_t i, slot
    own = records[:]
    for i in range(len(own)):
        if type_of(PyList_GET_ITEM(<PyObject*>own, i)) != record_slots.type:
            continue
        held = snapshot(PyList_GET_ITEM(<PyObject*>own, i), record_slots.type, record_slots.slots, RECORD_SLOTS)
        copied = NULL if held == NULL else new_instance(record_slots.type, 0)
        if copied != NULL:
            for slot in record_slots.slots:
                slot_of(copied, slot)[0] = slot_of(held, slot)[0]
                xincref(slot_of(held, slot)[0])
        release_snapshot(held, record_slots.slots, RECORD_SLOTS)
        own[i] = steal(copied)
    return own


cdef Py_ssize_t index_of(name, tuple names) except -2:
    """Find a name in a tuple, -1 if it is not there; by identity first, since most names are literals."""
    cdef Py_ssize_t i
    for i in range(len(names)):
        if <PyObject*>name == PyTuple_GET_ITEM(<PyObject*>names, i):
            return i
    return names.index(name) if type(name) is str and name in names else -1


cdef inline bint as_given(PyObject* value, int64_t* number) noexcept:
    """Set a number, unless None is given. True if the number has at most 64 bits."""
    return value == None_ or as_number(value, number)


cdef inline bint is_producer(const Head* head, bint is_transactional, bint is_control) noexcept:
    """True if the state of a producer is complete, by the rules of `kipwire.records.checks.expect_producer`."""
    if head.producer_id == -1:
        return not is_transactional
    return head.producer_epoch != -1 and (is_control or head.base_sequence >= 0)


cdef bint scan_records(PyObject* records, Head* head) noexcept:
    """Set what a head has by default. True if all are records with timestamps from -1 on and with offsets that ascend.

    Or no record has an offset; some with and some without are an error.
    """
    cdef PyObject* item
    cdef int64_t offset, timestamp, before = 0
    cdef Py_ssize_t i
    head.base_offset, head.base_timestamp, head.max_timestamp, head.by_position = 0, -1, -1, False
    head.records_count = PyList_GET_SIZE(records)
    for i in range(head.records_count):
        item = PyList_GET_ITEM(records, i)
        if type_of(item) != record_slots.type:
            return False
        if not number_in(item, record_slots.timestamp, &timestamp) or timestamp < -1:
            return False
        if not number_in(item, record_slots.offset, &offset):
            return False
        if i == 0:
            head.by_position = offset == NO_OFFSET
        if head.by_position:
            if offset != NO_OFFSET:
                return False
            offset = i
        elif offset == NO_OFFSET or (i and offset <= before):
            return False
        if i == 0:
            head.base_offset, head.base_timestamp = offset, timestamp
        head.max_timestamp = max(head.max_timestamp, timestamp)
        before = offset
    head.last_offset_delta = before
    return True


cdef bint spans_records(PyObject* records, bint has_base, PyObject* last_offset_delta, Head* head) noexcept:
    """Turn the last offset into its delta; true if all records are between it and the base."""
    cdef int64_t first, end = 0
    if head.records_count == 0:
        if not has_base:
            return False
    elif head.by_position:
        end = head.last_offset_delta
    else:
        if not number_in(PyList_GET_ITEM(records, 0), record_slots.offset, &first):
            return False
        if first < head.base_offset or not is_difference(head.last_offset_delta, head.base_offset, &end):
            return False
    head.last_offset_delta = end
    return as_given(last_offset_delta, &head.last_offset_delta) and head.last_offset_delta >= end


cdef write_whole(list records, compression, const Head* head):
    """A batch with this head; None where it has a number that does not fit, or a record cannot be written."""
    cdef Output out
    cdef uint8_t stack[STACK]
    cdef bint is_good
    if head.last_offset_delta != <int32_t>head.last_offset_delta or head.records_count != <int32_t>head.records_count:
        return None
    if head.leader_epoch != <int32_t>head.leader_epoch or head.base_sequence != <int32_t>head.base_sequence:
        return None
    if head.producer_epoch != <int16_t>head.producer_epoch:
        return None
    open_output(&out, stack, STACK, False)
    is_good = put(&out, RECORDS_AT) != NULL and write_list(<PyObject*>records, head, &out)
    if is_good and head.attributes & CODEC:
        data = <bytes>steal(PyBytes_FromStringAndSize(<char*>out.start + RECORDS_AT, written(&out) - RECORDS_AT))
        out.at = out.start + RECORDS_AT
        try:
            data = python["compress"](compression, data)
        except BaseException:
            discard_output(&out)
            raise
        is_good = PyBytes_CheckExact(<PyObject*>data) and put_bytes(
            &out, PyBytes_AS_STRING(<PyObject*>data), PyBytes_GET_SIZE(<PyObject*>data)
        )
    if not is_good or written(&out) > MAX_LENGTH:
        discard_output(&out)
        PyErr_Clear()
        return None
    put_head(head, out.start, written(&out))
    return steal(close_output(&out))


cdef bint write_list(PyObject* records, const Head* head, Output* out) noexcept:
    cdef int64_t base = head.base_offset
    cdef Py_ssize_t i
    for i in range(PyList_GET_SIZE(records)):
        if head.by_position:
            base = NO_OFFSET - i  # so that the delta of NO_OFFSET is the position
        if not write_record(PyList_GET_ITEM(records, i), base, head.base_timestamp, out):
            return False
    return True


cdef void put_head(const Head* head, uint8_t* p, Py_ssize_t size) noexcept:
    """Fill the head of a batch of this size, which is complete but for the head."""
    store_64(p + BASE_OFFSET_AT, head.base_offset)
    store_32(p + BATCH_LENGTH_AT, <uint32_t>(size - LEADER_EPOCH_AT))
    store_32(p + LEADER_EPOCH_AT, <uint32_t>head.leader_epoch)
    p[MAGIC_AT] = 2
    store_16(p + ATTRIBUTES_AT, <uint32_t>head.attributes)
    store_32(p + LAST_OFFSET_DELTA_AT, <uint32_t>head.last_offset_delta)
    store_64(p + BASE_TIMESTAMP_AT, head.base_timestamp)
    store_64(p + MAX_TIMESTAMP_AT, head.max_timestamp)
    store_64(p + PRODUCER_ID_AT, head.producer_id)
    store_16(p + PRODUCER_EPOCH_AT, <uint32_t>head.producer_epoch)
    store_32(p + BASE_SEQUENCE_AT, <uint32_t>head.base_sequence)
    store_32(p + RECORDS_COUNT_AT, <uint32_t>head.records_count)
    store_32(p + CRC_AT, checksum(True, p + ATTRIBUTES_AT, size - ATTRIBUTES_AT))
