# Batches of magic 2 from their bytes, in one call for a batch and one for its records. The head is written out here,
# for the reason that records.pxi gives. What fails is left to the Python functions that the functions here replace.

cdef enum:
    # Where the head has its fields.
    BASE_OFFSET_AT = 0
    BATCH_LENGTH_AT = 8
    LEADER_EPOCH_AT = 12  # the length counts from here
    MAGIC_AT = 16
    CRC_AT = 17
    ATTRIBUTES_AT = 21  # the checksum covers all from here on
    LAST_OFFSET_DELTA_AT = 23
    BASE_TIMESTAMP_AT = 27
    MAX_TIMESTAMP_AT = 35
    PRODUCER_ID_AT = 43
    PRODUCER_EPOCH_AT = 51
    BASE_SEQUENCE_AT = 53
    RECORDS_COUNT_AT = 57
    RECORDS_AT = 61
    # Its attributes.
    CODEC = 0x07
    LOG_APPEND_TIME = 0x08
    TRANSACTIONAL = 0x10
    CONTROL = 0x20
    DELETE_HORIZON = 0x40
    # Indexes into the tuples `Source`, `Location` and `Limits` of `kipwire.records`.
    SOURCE_DATA = 0
    SOURCE_LOCATION = 1
    SOURCE_LIMITS = 2
    SOURCE_SIZE = 3
    LOCATION_START = 1
    LOCATION_SIZE = 3
    LIMIT_OF_ITEMS = 1

# The slots of a batch.
cdef enum:
    BATCH_ATTRIBUTES
    BATCH_BASE_OFFSET
    BATCH_BASE_SEQUENCE
    BATCH_BASE_TIMESTAMP
    BATCH_COMPRESSION
    BATCH_CRC
    BATCH_DECODE
    BATCH_DELETE_HORIZON
    BATCH_IS_CONTROL
    BATCH_IS_TRANSACTIONAL
    BATCH_LAST_OFFSET
    BATCH_MAGIC
    BATCH_MAX_TIMESTAMP
    BATCH_PARTITION_LEADER_EPOCH
    BATCH_POSITION
    BATCH_PRODUCER_EPOCH
    BATCH_PRODUCER_ID
    BATCH_RECORDS
    BATCH_RECORDS_COUNT
    BATCH_SECTION
    BATCH_SIZE
    BATCH_SOURCE
    BATCH_TIMESTAMP_TYPE
    BATCH_SLOTS

BATCH_NAMES = (
    "attributes", "_base_offset", "base_sequence", "base_timestamp", "compression", "crc", "_decode", "delete_horizon",
    "is_control", "is_transactional", "last_offset", "magic", "max_timestamp", "partition_leader_epoch", "position",
    "producer_epoch", "producer_id", "_records", "records_count", "_section", "size", "_source", "timestamp_type",
)

cdef PyTypeObject* batch_type
cdef Py_ssize_t batch_slots[BATCH_SLOTS]
cdef tuple known_codecs, known_timestamp_types
cdef object default_limits, records_of_source, section_of_source
# An argument that is not given.
cdef object NOT_GIVEN = object()


cdef int init_batches() except -1:
    """Set what batches are made of, which Python has given, before the first is read or written."""
    global batch_type, default_limits, known_codecs, known_timestamp_types, records_of_source, section_of_source
    if is_set(&batch_type):
        return 0
    init_record()
    cls, limits, codecs, types = python["RecordBatch"], python["limits"], python["codecs"], python["timestamp_types"]
    decode, decompress = records_of, python["section_of"]
    with init_lock:
        if batch_type != NULL:
            return 0
        init_checksum(True)
        for i in range(BATCH_SLOTS):
            batch_slots[i] = offset(cls, BATCH_NAMES[i])
        default_limits, known_codecs, known_timestamp_types = limits, codecs, types
        records_of_source, section_of_source = decode, decompress
        install_dealloc(cls)
        incref(<PyObject*>cls)
        store_release(&batch_type, <PyTypeObject*><PyObject*>cls)
    return 0


def read_batches(data, *, magic_2="kafka", check_crcs=True, max_decompressed_size=NOT_GIVEN, max_items=NOT_GIVEN):
    cdef Batches batches
    init_batches()
    limits = default_limits
    if max_decompressed_size is not NOT_GIVEN or max_items is not NOT_GIVEN:
        limits = type(default_limits)(
            default_limits[0] if max_decompressed_size is NOT_GIVEN else max_decompressed_size,
            default_limits[LIMIT_OF_ITEMS] if max_items is NOT_GIVEN else max_items,
        )
    if type(data) is not bytes or magic_2 != "kafka":
        return python["read_batches"](
            data, magic_2=magic_2, check_crcs=check_crcs, max_decompressed_size=limits[0], max_items=limits[1]
        )
    batches = Batches.__new__(Batches)
    batches.data, batches.limits, batches.check_crcs = data, limits, check_crcs
    return batches


@cython.final
@cython.no_gc
cdef class Batches:
    """The batches of bytes; from the first that is not of magic 2, or that is broken, Python reads them."""

    cdef bytes data
    cdef object limits
    cdef object others
    cdef int64_t at
    cdef int64_t number
    cdef bint check_crcs
    cdef int is_busy

    def __iter__(self):
        return self

    def __next__(self):
        with cython.critical_section(self):
            if self.others is None and self.at == PyBytes_GET_SIZE(<PyObject*>self.data):
                raise StopIteration
            batch = self.next_whole() if self.others is None else None
        return self.next_of_others() if batch is None else batch

    cdef next_whole(self):
        """The next batch of magic 2 that is whole; None where Python is to read what follows."""
        cdef PyObject* batch
        cdef int64_t size = batch_size(<PyObject*>self.data, self.at)
        if size == 0:
            return None
        location = (self.number, self.at, None)
        batch = new_batch(
            <PyObject*>self.data, self.at, size, <PyObject*>location, <PyObject*>self.limits, self.check_crcs
        )
        if batch == NULL:
            PyErr_Clear()
            return None
        self.at += size
        self.number += 1
        return steal(batch)

    cdef next_of_others(self):
        """The next batch that Python reads, for one thread at a time, as generators are."""
        if not enter(&self.is_busy):
            raise ValueError("another thread is reading the next batch")
        try:
            with cython.critical_section(self):
                if self.others is None:
                    self.others = python["batches_from"](
                        self.data, self.at, self.number, self.limits, check_crcs=self.check_crcs
                    )
                others = self.others
            return next(others)
        finally:
            leave(&self.is_busy)


def read_batch(bytes data not None, tuple location not None, *, bint check_crcs, limits):
    cdef PyObject* batch
    init_batches()
    if batch_size(<PyObject*>data, 0) == len(data) and len(location) == LOCATION_SIZE:
        batch = new_batch(<PyObject*>data, 0, len(data), <PyObject*>location, <PyObject*>limits, check_crcs)
        if batch != NULL:
            return steal(batch)
        PyErr_Clear()
    return python["read_batch"](data, location, check_crcs=check_crcs, limits=limits)


cdef inline int64_t batch_size(PyObject* data, int64_t at) noexcept:
    """Size of the complete batch of magic 2 at a position; 0 if there is none."""
    cdef int64_t rest = PyBytes_GET_SIZE(data) - at, size
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(data) + at
    if rest < RECORDS_AT or p[MAGIC_AT] != 2:
        return 0
    size = LEADER_EPOCH_AT + <int64_t><int32_t>big_endian_32(p + BATCH_LENGTH_AT)
    return size if RECORDS_AT <= size <= rest else 0


cdef PyObject* new_batch(
    PyObject* data, int64_t at, int64_t size, PyObject* location, PyObject* limits, bint check_crcs
) noexcept:
    """A batch that is whole, from its position in bytes; NULL where it is broken, or without memory."""
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(data) + at
    cdef PyObject* values[BATCH_SLOTS]
    cdef PyObject* batch
    cdef Py_ssize_t i
    cdef uint32_t crc = big_endian_32(p + CRC_AT)
    cdef uint16_t attributes = big_endian_16(p + ATTRIBUTES_AT)
    cdef int64_t base_offset = <int64_t>big_endian_64(p + BASE_OFFSET_AT), last_offset
    cdef bint was_collecting, is_good = True
    if attributes & CODEC >= <Py_ssize_t>len(known_codecs):
        return NULL
    if not is_sum(base_offset, <int32_t>big_endian_32(p + LAST_OFFSET_DELTA_AT), &last_offset):
        return NULL
    if check_crcs and checksum(True, p + ATTRIBUTES_AT, size - ATTRIBUTES_AT) != crc:
        return NULL
    was_collecting = pause_collector()
    values[BATCH_ATTRIBUTES] = new_int(<int16_t>attributes)
    values[BATCH_BASE_OFFSET] = new_int(base_offset)
    values[BATCH_LAST_OFFSET] = new_int(last_offset)
    values[BATCH_BASE_TIMESTAMP] = new_int(<int64_t>big_endian_64(p + BASE_TIMESTAMP_AT))
    values[BATCH_MAX_TIMESTAMP] = new_int(<int64_t>big_endian_64(p + MAX_TIMESTAMP_AT))
    values[BATCH_PRODUCER_ID] = new_int(<int64_t>big_endian_64(p + PRODUCER_ID_AT))
    values[BATCH_PRODUCER_EPOCH] = new_int(<int16_t>big_endian_16(p + PRODUCER_EPOCH_AT))
    values[BATCH_BASE_SEQUENCE] = new_int(<int32_t>big_endian_32(p + BASE_SEQUENCE_AT))
    values[BATCH_RECORDS_COUNT] = new_int(<int32_t>big_endian_32(p + RECORDS_COUNT_AT))
    values[BATCH_PARTITION_LEADER_EPOCH] = new_int(<int32_t>big_endian_32(p + LEADER_EPOCH_AT))
    values[BATCH_CRC] = new_int(crc)
    values[BATCH_MAGIC] = new_int(2)
    values[BATCH_POSITION] = new_ref(PyTuple_GET_ITEM(location, LOCATION_START))
    values[BATCH_SIZE] = new_int(size)
    values[BATCH_COMPRESSION] = new_ref(PyTuple_GET_ITEM(<PyObject*>known_codecs, attributes & CODEC))
    values[BATCH_TIMESTAMP_TYPE] = new_ref(
        PyTuple_GET_ITEM(<PyObject*>known_timestamp_types, (attributes & LOG_APPEND_TIME) != 0)
    )
    values[BATCH_IS_TRANSACTIONAL] = new_ref(True_ if attributes & TRANSACTIONAL else False_)
    values[BATCH_IS_CONTROL] = new_ref(True_ if attributes & CONTROL else False_)
    values[BATCH_DELETE_HORIZON] = new_ref(
        values[BATCH_BASE_TIMESTAMP] if attributes & DELETE_HORIZON and values[BATCH_BASE_TIMESTAMP] != NULL else None_
    )
    values[BATCH_RECORDS] = new_ref(None_)
    values[BATCH_DECODE] = new_ref(<PyObject*>records_of_source)
    values[BATCH_SECTION] = new_ref(<PyObject*>section_of_source)
    values[BATCH_SOURCE] = new_source(data, at, size, location, limits)
    batch = new_instance(batch_type, 0)
    for i in range(BATCH_SLOTS):
        is_good = is_good and values[i] != NULL
    if batch == NULL or not is_good:
        for i in range(BATCH_SLOTS):
            xdecref(values[i])
        xdecref(batch)
        batch = NULL
    else:
        for i in range(BATCH_SLOTS):
            slot_of(batch, batch_slots[i])[0] = values[i]
    resume_collector(was_collecting)
    return batch


cdef inline PyObject* new_source(
    PyObject* data, int64_t at, int64_t size, PyObject* location, PyObject* limits
) noexcept:
    """Make the source of a batch's records, a `kipwire.records.record_batches.Source`."""
    cdef PyObject* source = PyTuple_New(SOURCE_SIZE)
    cdef PyObject* copies
    if source == NULL:
        return NULL
    if size == PyBytes_GET_SIZE(data):
        own = new_ref(data)
    else:
        own = PyBytes_FromStringAndSize(PyBytes_AS_STRING(data) + at, size)
    if own == NULL:
        decref(source)
        return NULL
    PyTuple_SET_ITEM(source, SOURCE_DATA, own)
    PyTuple_SET_ITEM(source, SOURCE_LOCATION, new_ref(location))
    PyTuple_SET_ITEM(source, SOURCE_LIMITS, new_ref(limits))
    return source


def records_of_batch(self):
    cdef PyObject* batch = <PyObject*>self
    cdef PyObject* records
    cdef PyObject* source
    init_batches()
    if type_of(batch) == batch_type:
        records = load_slot(batch, batch_slots[BATCH_RECORDS])
        if records != NULL and records != None_:
            found = <object>records
            release(records)
            return found
        if records == None_ and is_plain_batch(batch):
            source = load_slot(batch, batch_slots[BATCH_SOURCE])
            records = plain_records(source)
            release(source)
            if records != NULL:
                return steal(publish(batch, batch_slots[BATCH_RECORDS], records))
            PyErr_Clear()
    return python["records_of_batch"](self)


cdef inline bint is_plain_batch(PyObject* batch) noexcept:
    """True if the kernel can read the records of a batch from its source."""
    cdef PyObject* decode = load_slot(batch, batch_slots[BATCH_DECODE])
    release(decode)
    return decode == <PyObject*>records_of_source


cdef PyObject* plain_records(PyObject* source) noexcept:
    """The records of a batch, a new list; NULL where they are compressed, or anything is unusual or wrong."""
    cdef const uint8_t* head
    cdef PyObject* data
    cdef PyObject* limits
    cdef Cursor cursor
    cdef int64_t most
    if source == NULL or not PyTuple_CheckExact(source) or PyTuple_GET_SIZE(source) != SOURCE_SIZE:
        return NULL
    data, limits = PyTuple_GET_ITEM(source, SOURCE_DATA), PyTuple_GET_ITEM(source, SOURCE_LIMITS)
    if not PyBytes_CheckExact(data) or PyBytes_GET_SIZE(data) < RECORDS_AT:
        return NULL
    head = <const uint8_t*>PyBytes_AS_STRING(data)
    if head[ATTRIBUTES_AT + 1] & CODEC or type_of(limits) != type_of(<PyObject*>default_limits):
        return NULL
    open_bytes(data, RECORDS_AT, &cursor)
    if not as_number(PyTuple_GET_ITEM(limits, LIMIT_OF_ITEMS), &most) or (left(&cursor) + 1) // 2 > most:
        return NULL
    return records_after(head, &cursor)


def records_of(source):
    cdef PyObject* records
    cdef Cursor cursor
    init_batches()
    section = section_of_source(source)
    if type(source) is tuple and type(section) is bytes:
        data = source[SOURCE_DATA]
        if type(data) is bytes and len(data) >= RECORDS_AT:
            open_bytes(<PyObject*>section, 0, &cursor)
            records = records_after(<const uint8_t*>PyBytes_AS_STRING(<PyObject*>data), &cursor)
            if records != NULL:
                return steal(records)
            PyErr_Clear()
    return python["records_of"](source)


cdef PyObject* records_after(const uint8_t* head, Cursor* cursor) noexcept:
    cdef PyObject* append_time = NULL
    cdef PyObject* records
    if head[ATTRIBUTES_AT + 1] & LOG_APPEND_TIME:
        append_time = new_int(<int64_t>big_endian_64(head + MAX_TIMESTAMP_AT))
        if append_time == NULL:
            return NULL
    records = read_counted(
        <int32_t>big_endian_32(head + RECORDS_COUNT_AT),
        <int64_t>big_endian_64(head + BASE_OFFSET_AT),
        <int64_t>big_endian_64(head + BASE_TIMESTAMP_AT),
        append_time,
        cursor,
    )
    xdecref(append_time)
    return records
