# The floor of reading: what the objects of a message cost without its bytes.

def copy_of(message):
    """A copy of a message that was decoded, object by object, with nothing shared that decoding would make anew.

    It takes the time that making these objects takes, with no byte to parse. Structs, lists and values are made as
    `decode` makes them.

    Raises:
        NotServed: a value is not of a type that decoding gives, there are unknown tagged fields, or its class is not
            served or has computed items.
    """
    cdef Codec codec = codec_of(type(message))
    cdef bint was_collecting
    cdef PyObject* copied = NULL
    if codec.compiled != NULL:
        was_collecting = pause_collector()
        copied = copy_struct(codec.compiled, <PyObject*>message)
        resume_collector(was_collecting)
    if copied == NULL:
        PyErr_Clear()
        raise NotServed
    return steal(copied)


cdef PyObject* copy_struct(const StructPlan* plan, PyObject* source) noexcept:
    cdef PyObject* held = snapshot(source, plan.type, plan.slots, plan.slot_count)
    cdef PyObject* instance = NULL if held == NULL else copy_snapshot(plan, held)
    release_snapshot(held, plan.slots, plan.slot_count)
    return instance


cdef inline PyObject* copy_snapshot(const StructPlan* plan, PyObject* source) noexcept:
    cdef PyObject* instance
    cdef Py_ssize_t i
    if type_of(source) != plan.type or plan.mark_count:
        return NULL
    instance = new_instance(plan.type, 0)
    if instance == NULL:
        return NULL
    for i in range(plan.item_count):
        if plan.items[i].kind >= BOUND or not copy_slot(&plan.items[i], source, instance):
            decref(instance)
            return NULL
    for i in range(plan.tagged_count):
        if not copy_slot(&plan.tagged[i], source, instance):
            decref(instance)
            return NULL
    if plan.flexible:
        slot_of(instance, plan.unknown_slot)[0] = copy_unknown(slot_of(source, plan.unknown_slot)[0])
        if slot_of(instance, plan.unknown_slot)[0] == NULL:
            decref(instance)
            return NULL
    return instance


cdef inline PyObject* copy_unknown(PyObject* source) noexcept:
    """No unknown tagged field, or the dict that they are in: an empty one, of a struct that has only known ones."""
    if source == None_:
        return new_ref(None_)
    return PyDict_New() if source != NULL and PyDict_CheckExact(source) and PyDict_Size(source) == 0 else NULL


cdef inline bint copy_slot(const Item* item, PyObject* source, PyObject* instance) noexcept:
    cdef PyObject* value = slot_of(source, item.slot)[0]
    if value != NULL:
        value = copy_elements(item, value) if PyList_CheckExact(value) else copy_value(item, value)
    slot_of(instance, item.slot)[0] = value
    return value != NULL


cdef inline PyObject* copy_value(const Item* item, PyObject* value) noexcept:
    """A value of an item that is not an array, or an element of one."""
    cdef int64_t number
    if as_number(value, &number):
        return new_int(number)
    elif value == None_ or value == True_ or value == False_ or value == LAZY:
        return new_ref(value)
    elif PyUnicode_CheckExact(value):
        return copy_text(value)
    elif PyBytes_CheckExact(value):
        return PyBytes_FromStringAndSize(PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
    elif PyFloat_CheckExact(value):
        return PyFloat_FromDouble(PyFloat_AS_DOUBLE(value))
    elif uuid_type != NULL and type_of(value) == uuid_type:
        return copy_uuid(value)
    return copy_struct(item.plan, value) if item.plan != NULL else NULL


cdef PyObject* copy_text(PyObject* text) noexcept:
    cdef Py_ssize_t size = 0
    cdef const char* utf8 = utf8_of(text, &size)
    return NULL if utf8 == NULL else text_of(<const uint8_t*>utf8, size)


cdef PyObject* copy_uuid(PyObject* source) noexcept:
    cdef uint8_t content[16]
    return new_uuid(content) if write_uuid(source, content) else NULL


cdef PyObject* copy_elements(const Item* item, PyObject* source) noexcept:
    cdef Py_ssize_t i, count = PyList_GET_SIZE(source)
    cdef PyObject** elements
    if count == 0:
        return PyList_New(0)
    elements = <PyObject**>alloc_items(count, sizeof(PyObject*))
    if elements == NULL:
        return NULL
    for i in range(count):
        elements[i] = copy_value(item, PyList_GET_ITEM(source, i))
        if elements[i] == NULL:
            return discard_elements(elements, i)
    return list_of(elements, count)
