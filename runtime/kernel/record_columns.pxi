# The records of batches of magic 2 as Arrow columns, written out by hand, for the reason that records.pxi gives.

cdef enum:
    # The columns, in their order.
    BATCH_COLUMN
    OFFSET_COLUMN
    TIMESTAMP_COLUMN
    KEY_COLUMN
    VALUE_COLUMN
    HEADERS_COLUMN
    RECORD_COLUMNS

# What a batch says of its records.
cdef struct BatchHeader:
    int32_t number
    int64_t count
    int64_t base_offset
    int64_t base_timestamp
    # True if all records have the broker's time.
    bint has_append_time
    int64_t append_time


cdef class RecordTable:
    """Columns of the records of several batches, which are added one by one. Offsets in them have 32 bits.

    With `raw_keys` a header has the bytes of its key, too, after key and value.
    """

    cdef Call call
    cdef Rows rows
    cdef Column columns[RECORD_COLUMNS]
    cdef Column* wanted[RECORD_COLUMNS]
    # Of a header: its key as text, its value, and its key as bytes.
    cdef Fields header
    cdef Column of_header[3]
    cdef Column* wanted_of_header[3]
    cdef bint raw_keys
    cdef int is_busy

    def __cinit__(self, bint raw_keys=False):
        self.raw_keys = raw_keys
        self.set_up(0)

    def __dealloc__(self):
        self.free()

    cdef void set_up(self, int64_t expected) noexcept:
        """Reset to empty, unallocated columns sized for `expected` bytes of records."""
        cdef Py_ssize_t i
        cdef Column* headers = &self.columns[HEADERS_COLUMN]
        memset(&self.call, 0, sizeof(Call))
        memset(&self.rows, 0, sizeof(Rows))
        memset(self.columns, 0, sizeof(self.columns))
        memset(self.of_header, 0, sizeof(self.of_header))
        self.call.total = expected
        self.rows.call = &self.call
        self.rows.columns = self.wanted
        self.rows.column_count = RECORD_COLUMNS
        for i in range(RECORD_COLUMNS):
            self.wanted[i] = &self.columns[i]
            self.columns[i].rows = &self.rows
            self.columns[i].wanted = True
        set_kind(&self.columns[BATCH_COLUMN], INT32, 4)
        set_kind(&self.columns[OFFSET_COLUMN], INT64, 8)
        set_kind(&self.columns[TIMESTAMP_COLUMN], INT64, 8)
        set_kind(&self.columns[KEY_COLUMN], BYTES, 0)
        set_kind(&self.columns[VALUE_COLUMN], BYTES, 0)
        set_kind(headers, ARRAY, 0)
        headers.fields = &self.header
        headers.elements.call = &self.call
        headers.elements.columns = self.wanted_of_header
        headers.elements.column_count = 3 if self.raw_keys else 2
        self.header.columns = self.of_header
        self.header.wanted = self.wanted_of_header
        self.header.column_count = self.header.wanted_count = headers.elements.column_count
        for i in range(self.header.column_count):
            self.wanted_of_header[i] = &self.of_header[i]
            self.of_header[i].rows = &headers.elements
            self.of_header[i].wanted = True
        set_kind(&self.of_header[0], STRING, 0)
        set_kind(&self.of_header[1], BYTES, 0)
        set_kind(&self.of_header[2], BYTES, 0)

    cdef void free(self) noexcept:
        cdef Py_ssize_t i
        for i in range(RECORD_COLUMNS):
            free_column(&self.columns[i])

    @property
    def count(self):
        """Number of records."""
        cdef Py_ssize_t count
        self.claim()
        count = self.rows.count
        leave(&self.is_busy)
        return count

    @property
    def size(self):
        """Bytes of all keys and values, including headers; only text keys of headers count."""
        cdef Py_ssize_t size
        self.claim()
        size = self.columns[KEY_COLUMN].content_size + self.columns[VALUE_COLUMN].content_size
        size += self.of_header[0].content_size + self.of_header[1].content_size
        leave(&self.is_busy)
        return size

    def add(self, int32_t number, bytes section, int64_t count, int64_t base_offset, int64_t base_timestamp, append_time):
        """Add the records of a batch.

        Args:
            number: of the batch, for its column.
            section: the bytes of the records, not compressed.
            count: how many records the batch declares.
            base_offset: what offsets are counted from.
            base_timestamp: what timestamps are counted from.
            append_time: the timestamp of all records instead, or None.

        Returns:
            Whether all is valid, and no number has more than 64 bits. If not, nothing has been added.

        Raises:
            OverflowError: a column would outgrow its offsets; nothing has been added.
            RuntimeError: another thread is adding or taking records.
        """
        cdef BatchHeader batch
        cdef Cursor cursor
        cdef Py_ssize_t before
        cdef int64_t done
        cdef Status status
        cdef bint is_good
        batch.number, batch.count, batch.base_offset, batch.base_timestamp = number, count, base_offset, base_timestamp
        batch.has_append_time = append_time is not None
        batch.append_time = 0 if append_time is None else append_time  # may run code, which may call this
        open_bytes(<PyObject*>section, 0, &cursor)
        self.claim()
        before, done = self.rows.count, self.call.done
        with nogil:
            is_good = fill_records(&self.rows, self.columns, &batch, &cursor)
        if is_good:
            leave(&self.is_busy)
        else:
            truncate_rows(&self.rows, before)
            self.call.done = done
            status, self.call.status = self.call.status, STATUS_OK
            leave(&self.is_busy)
            if status == OUT_OF_MEMORY:
                raise MemoryError
            if status == CAPACITY_ERROR:
                raise OverflowError
        return is_good

    def take(self):
        """The parts of each column, from `column_parts`; nothing of it is kept here."""
        cdef Py_ssize_t i
        self.claim()
        try:
            return [column_parts(&self.columns[i], self.rows.count) for i in range(RECORD_COLUMNS)]
        finally:
            self.free()
            self.set_up(self.call.done + self.call.done // 8)  # the next ones will be much the same
            leave(&self.is_busy)

    cdef int claim(self) except -1:
        """Claim the table for one call; no Python code may run between the look and the claim."""
        if not enter(&self.is_busy):
            raise RuntimeError("another thread is adding or taking records")
        return 0


cdef void set_kind(Column* column, Kind kind, Py_ssize_t width) noexcept:
    column.kind = kind
    column.width = width


cdef bint fill_records(Rows* rows, Column* columns, const BatchHeader* batch, Cursor* cursor) noexcept nogil:
    """All records of a batch, as many as it declares."""
    cdef Py_ssize_t i, first = rows.count
    cdef int64_t done = rows.call.done
    if not 0 <= batch.count <= left(cursor) // MIN_RECORD_SIZE:
        return False
    rows.call.done += left(cursor)  # for the time of this call, so that the estimate counts these records
    if not reserve_rows(rows, batch.count):
        return False
    rows.call.done = done
    for i in range(first, first + batch.count):
        (<int32_t*>columns[BATCH_COLUMN].values)[i] = batch.number
        if not fill_record(columns, i, batch, cursor):
            return False
    rows.count = first + batch.count
    return cursor.at == cursor.end


cdef inline bint fill_record(Column* columns, Py_ssize_t row, const BatchHeader* batch, Cursor* cursor) noexcept nogil:
    cdef const uint8_t* outer_end = cursor.end
    cdef const uint8_t* attributes
    cdef int64_t length, delta
    cdef int64_t* timestamp = <int64_t*>columns[TIMESTAMP_COLUMN].values + row
    if not take_length(VARINT_PREFIX, cursor, &length) or not 0 <= length <= left(cursor):
        return False
    cursor.end = cursor.at + length
    columns.rows.call.done += length
    if not take(cursor, 1, &attributes):
        return False
    if not take_zigzag(cursor, 64, &delta):
        return False
    if batch.has_append_time:
        timestamp[0] = batch.append_time
    elif not is_sum(batch.base_timestamp, delta, timestamp):
        return False
    if not take_zigzag(cursor, 32, &delta):
        return False
    if not is_sum(batch.base_offset, delta, <int64_t*>columns[OFFSET_COLUMN].values + row):
        return False
    if not fill_blob(&columns[KEY_COLUMN], row, cursor) or not fill_blob(&columns[VALUE_COLUMN], row, cursor):
        return False
    if not fill_headers(&columns[HEADERS_COLUMN], row, cursor) or cursor.at != cursor.end:
        return False
    cursor.end = outer_end
    return True


cdef inline bint fill_blob(Column* column, Py_ssize_t row, Cursor* cursor) noexcept nogil:
    """Bytes or null after their size."""
    cdef int64_t size
    cdef const uint8_t* p
    if not take_blob(VARINT_PREFIX, True, cursor, &p, &size):
        return False
    return set_null(column, row) if size < 0 else fill_content(column, row, p, size)


cdef inline bint fill_headers(Column* column, Py_ssize_t row, Cursor* cursor) noexcept nogil:
    cdef Column* of_header = column.fields.columns
    cdef int64_t count, size
    cdef Py_ssize_t i, first = column.elements.count
    cdef const uint8_t* p
    if not take_length(VARINT_PREFIX, cursor, &count) or not 0 <= count <= left(cursor) // 2:  # each has two sizes
        return False
    if count and not reserve_rows(&column.elements, count):
        return False
    column.elements.count += count
    column.offsets[row + 1] = <int32_t>column.elements.count
    for i in range(first, first + count):
        if not take_blob(VARINT_PREFIX, False, cursor, &p, &size):
            return False
        if not fill_content(&of_header[0], i, p, size) or not fill_content(&of_header[2], i, p, size):
            return False
        if not is_likely(is_utf8(p, size)) and not put_text_instead(&of_header[0], i, p, size):
            return False
        if not fill_blob(&of_header[1], i, cursor):
            return False
    return True


cdef bint put_text_instead(Column* column, Py_ssize_t row, const uint8_t* p, Py_ssize_t size) noexcept nogil:
    """Put the text of bytes that are not UTF-8 in their place, at the end of the column."""
    cdef Py_ssize_t text_size = put_text_of_any(p, size, NULL)
    column.content_size -= size
    if text_size > column.content_capacity - column.content_size and not reserve_content(column, text_size):
        return False
    column.content_size += put_text_of_any(p, size, column.content + column.content_size)
    column.offsets[row + 1] = <int32_t>column.content_size
    return True
