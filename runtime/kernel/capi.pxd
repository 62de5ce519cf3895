# cython: language_level=3
"""The parts of CPython that the kernel uses, with plain pointers: it counts references itself."""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef extern from "Python.h":
    void decref "Py_DECREF"(PyObject*)
    void xdecref "Py_XDECREF"(PyObject*)
    void incref "Py_INCREF"(PyObject*)
    void xincref "Py_XINCREF"(PyObject*)
    PyTypeObject* type_of "Py_TYPE"(PyObject*)

    PyObject* None_ "Py_None"
    PyObject* True_ "Py_True"
    PyObject* False_ "Py_False"
    PyTypeObject PyUnicode_Type
    ctypedef struct PyASCIIObject:
        pass
    bint PyType_IsSubtype(PyTypeObject*, PyTypeObject*)
    int PyObject_RichCompareBool(PyObject*, PyObject*, int) nogil
    int Py_EQ
    int Py_LT

    PyObject* PyLong_FromLongLong(long long)
    PyObject* PyLong_FromUnsignedLongLong(unsigned long long)
    unsigned long long PyLong_AsUnsignedLongLong(PyObject*)
    bint PyLong_CheckExact(PyObject*)

    PyObject* PyFloat_FromDouble(double)
    double PyFloat_AS_DOUBLE(PyObject*)
    bint PyFloat_CheckExact(PyObject*)

    PyObject* PyUnicode_New(Py_ssize_t, int)
    PyObject* PyUnicode_DecodeUTF8(const char*, Py_ssize_t, const char*)
    bint PyUnicode_CheckExact(PyObject*)
    Py_ssize_t PyUnicode_GET_LENGTH(PyObject*)

    PyObject* PyBytes_FromStringAndSize(const char*, Py_ssize_t)
    char* PyBytes_AS_STRING(PyObject*)
    Py_ssize_t PyBytes_GET_SIZE(PyObject*)
    bint PyBytes_CheckExact(PyObject*)
    int _PyBytes_Resize(PyObject**, Py_ssize_t)

    char* PyByteArray_AS_STRING(PyObject*)

    PyObject* PyList_New(Py_ssize_t)
    int PyList_Append(PyObject*, PyObject*)
    PyObject* PyList_GetSlice(PyObject*, Py_ssize_t, Py_ssize_t)
    PyObject* PyList_GET_ITEM(PyObject*, Py_ssize_t)
    Py_ssize_t PyList_GET_SIZE(PyObject*)
    bint PyList_CheckExact(PyObject*)

    PyObject* PyTuple_New(Py_ssize_t)
    void PyTuple_SET_ITEM(PyObject*, Py_ssize_t, PyObject*)
    PyObject* PyTuple_GET_ITEM(PyObject*, Py_ssize_t)
    Py_ssize_t PyTuple_GET_SIZE(PyObject*)
    bint PyTuple_CheckExact(PyObject*)

    PyObject* PyDict_New()
    int PyDict_SetItem(PyObject*, PyObject*, PyObject*)
    int PyDict_Next(PyObject*, Py_ssize_t*, PyObject**, PyObject**)
    Py_ssize_t PyDict_Size(PyObject*)
    bint PyDict_CheckExact(PyObject*)

    void* PyMem_Malloc(size_t)
    void PyMem_Free(void*)
    PyObject* PyErr_Occurred()
    void PyErr_Clear()

cdef extern from *:
    """
    /* Have the compiler refuse a constant condition that does not hold. */
    #define KIP_STATIC_ASSERT(condition) ((void)sizeof(struct { unsigned holds : (condition) ? 1 : -1; }))

    #include <structmember.h>  /* PyMemberDef, before Python 3.12 */

    /* The slot of an object at the offset of a member descriptor. */
    #define KIP_SLOT(item, offset) ((PyObject**)((char*)(item) + (offset)))

    #ifndef Py_T_OBJECT_EX  /* before Python 3.12 */
    #define Py_T_OBJECT_EX T_OBJECT_EX
    #define Py_READONLY READONLY
    #endif

    /* Where instances of a class keep the value of a slot of this name, as the descriptor in the class says; or -1 if
       that is not the one that __slots__ made for the name, in the class or in a base. */
    static Py_ssize_t kip_slot_offset(PyObject* cls, PyObject* name, PyObject* descriptor) {
        if (!PyType_Check(cls) || !Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) return -1;
        PyTypeObject* type = (PyTypeObject*)cls;
        PyMemberDef* member = ((PyMemberDescrObject*)descriptor)->d_member;
        if (!PyType_IsSubtype(type, PyDescr_TYPE(descriptor))) return -1;
        if (PyUnicode_Compare(PyDescr_NAME(descriptor), name) != 0) return -1;
        if (member->type != Py_T_OBJECT_EX || member->flags & Py_READONLY) return -1;
        if (member->offset < (Py_ssize_t)sizeof(PyObject)) return -1;
        if (member->offset > type->tp_basicsize - (Py_ssize_t)sizeof(PyObject*)) return -1;
        return member->offset;
    }

    /* True if instances are the header and the slots alone, and are made and freed as of any Python class. */
    static int kip_is_plain(PyTypeObject* type) {
        return type->tp_itemsize == 0 && type->tp_alloc == PyType_GenericAlloc && type->tp_free == PyObject_GC_Del
            && PyType_IS_GC(type);
    }

    #ifdef Py_GIL_DISABLED  /* where classes count their instances in another way */
    #define kip_free_by_slots(type, python) ((void)0)
    #else
    /* Frees an instance of a class whose instances are the header and slots alone, or of a class derived from one. */
    static void kip_free_instance(PyObject* item) {
        PyTypeObject* type = Py_TYPE(item);
        PyTypeObject* base = type;
        while (base->tp_dealloc != kip_free_instance) base = base->tp_base;
        if (base == type && type->tp_finalize != NULL && PyObject_CallFinalizerFromDealloc(item) < 0) return;
        PyObject_GC_UnTrack(item);
        PyObject** slot = KIP_SLOT(item, sizeof(PyObject));
        PyObject** end = KIP_SLOT(item, base->tp_basicsize);
        for (; slot < end; slot++) {
            PyObject* value = *slot;
            if (value == NULL) continue;
            /* What may lead to more instances than the C stack has room for; lists see to that themselves. */
            if (Py_REFCNT(value) == 1 && PyType_IS_GC(Py_TYPE(value)) && !PyList_CheckExact(value)) break;
            *slot = NULL;
            Py_DECREF(value);
        }
        if (slot == end) {
            PyObject_GC_Del(item);
            Py_DECREF(type);
            return;
        }
        Py_TRASHCAN_BEGIN(item, kip_free_instance)
        for (; slot < end; slot++) Py_CLEAR(*slot);
        PyObject_GC_Del(item);
        Py_DECREF(type);
        Py_TRASHCAN_END
    }

    /* Free instances of such a class by that, if Python itself would free them as it does for `python`. */
    static void kip_free_by_slots(PyTypeObject* type, PyTypeObject* python) {
        for (PyTypeObject* base = type; base != &PyBaseObject_Type; base = base->tp_base) {
            if (base->tp_dealloc != python->tp_dealloc && base->tp_dealloc != kip_free_instance) return;
            if (base->tp_del != NULL) return;
        }
        type->tp_dealloc = kip_free_instance;
    }
    #endif

    /* No callback of the collector, nor gc.get_objects() in it, may reach half-made objects: before Python 3.12
       collections begin where something is allocated, so none does between these two; later only between bytecodes. */
    #if PY_VERSION_HEX < 0x030C0000
    #define kip_pause_collector PyGC_Disable
    static inline void kip_resume_collector(int was_enabled) {
        if (was_enabled) PyGC_Enable();
    }
    #else
    #define kip_pause_collector() 0
    #define kip_resume_collector(was_enabled) ((void)(was_enabled))
    #endif

    /* A list of elements, one at least, in memory of PyMem_Malloc; it takes over both that and the references. */
    static inline PyObject* kip_list_of(PyObject** elements, Py_ssize_t count) {
    #ifdef Py_GIL_DISABLED  /* where lists have memory of another kind */
        PyObject* items = PyList_New(count);
        for (Py_ssize_t i = 0; i < count; i++) {
            if (items != NULL) PyList_SET_ITEM(items, i, elements[i]);
            else Py_DECREF(elements[i]);
        }
        PyMem_Free(elements);
    #else
        PyObject* items = PyList_New(0);
        if (items == NULL) {
            while (count > 0) Py_DECREF(elements[--count]);
            PyMem_Free(elements);
        } else {
            ((PyListObject*)items)->ob_item = elements;
            ((PyListObject*)items)->allocated = count;
            Py_SET_SIZE(items, count);
        }
    #endif
        return items;
    }

    /* An instance of a class derived from str, which has no other `__new__` run. */
    static PyObject* kip_text_of_class(PyTypeObject* type, PyObject* text) {
        PyObject* arguments = PyTuple_Pack(1, text);
        PyObject* item = arguments == NULL ? NULL : PyUnicode_Type.tp_new(type, arguments, NULL);
        Py_XDECREF(arguments);
        return item;
    }

    /* The UTF-8 of a str, which lasts as long as that; NULL where it has none. */
    static inline const char* kip_utf8(PyObject* text, Py_ssize_t* size) {
        if (!PyUnicode_IS_COMPACT_ASCII(text)) return PyUnicode_AsUTF8AndSize(text, size);
        *size = PyUnicode_GET_LENGTH(text);
        return (const char*)PyUnicode_1BYTE_DATA(text);
    }

    #if defined(__GNUC__)
    #define KIP_COLD __attribute__((noinline, cold))
    #define KIP_LIKELY(condition) __builtin_expect(!!(condition), 1)
    #else
    #define KIP_COLD
    #define KIP_LIKELY(condition) (condition)
    #endif

    /* The number of an int that has several digits; one beyond 64 bits is none. */
    static KIP_COLD int kip_as_long_number(PyObject* value, int64_t* number) {
        int overflow = 0;
        *number = PyLong_AsLongLongAndOverflow(value, &overflow);
        return overflow == 0;
    }

    /* The number that an int is; of a class derived from it, or beyond 64 bits, it is none. */
    static inline int kip_as_number(PyObject* value, int64_t* number) {
        int64_t of_many_digits;  /* not `number` itself: a variable whose address others get stays in memory */
        if (!PyLong_CheckExact(value)) return 0;
    #if PY_VERSION_HEX >= 0x030C0000
        if (PyUnstable_Long_IsCompact((PyLongObject*)value)) {
            *number = PyUnstable_Long_CompactValue((PyLongObject*)value);
            return 1;
        }
    #else
        if (Py_SIZE(value) >= -1 && Py_SIZE(value) <= 1) {  /* of one digit, or of none */
            *number = Py_SIZE(value) * (int64_t)((PyLongObject*)value)->ob_digit[0];
            return 1;
        }
    #endif
        if (!kip_as_long_number(value, &of_many_digits)) return 0;
        *number = of_many_digits;
        return 1;
    }

    /* Python without a GIL, where another thread may change any object that it can reach at any moment, and drop what
       was in it. Whatever is read of such objects is then read under their locks, and kept as long as it is used; with
       a GIL nothing of that costs anything. _kernel.pyx has the rules that follow. */
    #ifdef Py_GIL_DISABLED
    #define KIP_WITHOUT_GIL 1
    #define kip_release(value) Py_XDECREF(value)

    /* The value of a slot; NULL if it is empty. */
    static inline PyObject* kip_load_slot(PyObject* instance, Py_ssize_t offset) {
        PyObject* value;
        Py_BEGIN_CRITICAL_SECTION(instance);
        value = Py_XNewRef(*KIP_SLOT(instance, offset));
        Py_END_CRITICAL_SECTION();
        return value;
    }

    static inline void kip_release_snapshot(PyObject* copy, const Py_ssize_t* slots, Py_ssize_t slot_count) {
        if (copy == NULL) return;
        for (Py_ssize_t i = 0; i < slot_count; i++) Py_XDECREF(*KIP_SLOT(copy, slots[i]));
        PyMem_Free(copy);
    }

    /* What an instance is at one moment, with lists and dicts of its own, which no other thread knows. */
    static PyObject* kip_snapshot(
        PyObject* instance, PyTypeObject* type, const Py_ssize_t* slots, Py_ssize_t slot_count
    ) {
        PyObject* copy = Py_IS_TYPE(instance, type) ? (PyObject*)PyMem_Calloc(1, type->tp_basicsize) : NULL;
        if (copy == NULL) return NULL;
        copy->ob_type = type;
        Py_BEGIN_CRITICAL_SECTION(instance);
        for (Py_ssize_t i = 0; i < slot_count; i++)
            *KIP_SLOT(copy, slots[i]) = Py_XNewRef(*KIP_SLOT(instance, slots[i]));
        Py_END_CRITICAL_SECTION();
        for (Py_ssize_t i = 0; i < slot_count; i++) {  /* which may wait for other locks, and give up this one meanwhile */
            PyObject *value = *KIP_SLOT(copy, slots[i]), *own = value;
            if (value == NULL) continue;
            if (PyList_CheckExact(value)) own = PyList_GetSlice(value, 0, PY_SSIZE_T_MAX);
            else if (PyDict_CheckExact(value)) own = PyDict_Copy(value);
            else continue;
            *KIP_SLOT(copy, slots[i]) = own;  /* without memory the slot is empty, and so is nothing that can be written */
            Py_DECREF(value);
        }
        return copy;
    }

    /* Whether the caller is the only one from now on until it leaves. */
    #define kip_enter(is_busy) (_Py_atomic_exchange_int(is_busy, 1) == 0)
    #define kip_leave(is_busy) _Py_atomic_store_int_release(is_busy, 0)
    #define kip_is_set(pointer) (_Py_atomic_load_ptr_acquire(pointer) != NULL)
    #define kip_store_release(pointer, value) _Py_atomic_store_ptr_release(pointer, value)
    #define KIP_BEGIN_CHANGE(instance) Py_BEGIN_CRITICAL_SECTION(instance)
    #define KIP_END_CHANGE() Py_END_CRITICAL_SECTION()
    #else
    #define KIP_WITHOUT_GIL 0
    #define kip_release(value) ((void)0)
    #define kip_load_slot(instance, offset) (*KIP_SLOT(instance, offset))
    #define kip_snapshot(instance, type, slots, slot_count) (instance)
    #define kip_release_snapshot(copy, slots, slot_count) ((void)0)
    #define kip_enter(is_busy) (*(is_busy) ? 0 : (*(is_busy) = 1))
    #define kip_leave(is_busy) ((void)(*(is_busy) = 0))
    #define kip_is_set(pointer) (*(pointer) != NULL)
    #define kip_store_release(pointer, value) ((void)(*(pointer) = (value)))
    #define KIP_BEGIN_CHANGE(instance) {
    #define KIP_END_CHANGE() }
    #endif

    /* Put a value that was made on first use, whose reference it takes over, into a slot that has None. What the slot
       has then, which is another one's value where that was first; a new reference. */
    static inline PyObject* kip_publish(PyObject* instance, Py_ssize_t offset, PyObject* value) {
        PyObject *before, *first;
        KIP_BEGIN_CHANGE(instance);
        before = *KIP_SLOT(instance, offset);
        if (before == Py_None) kip_store_release(KIP_SLOT(instance, offset), value);
        else before = value;
        first = Py_XNewRef(*KIP_SLOT(instance, offset));
        KIP_END_CHANGE();
        Py_DECREF(before);
        return first;
    }

    /* What a class or its bases have under a name, through the type's attribute cache; `release` follows. */
    static inline PyObject* kip_lookup(PyObject* cls, PyObject* name) {
        if (!PyType_Check(cls)) return NULL;
    #ifdef Py_GIL_DISABLED
        return _PyType_LookupRef((PyTypeObject*)cls, name);
    #else
        return _PyType_Lookup((PyTypeObject*)cls, name);
    #endif
    }

    /* Numbers of 128 bits, as uuid.UUID keeps them. */
    #if PY_VERSION_HEX >= 0x030D0000
    #define KIP_UUID (Py_ASNATIVEBYTES_BIG_ENDIAN | Py_ASNATIVEBYTES_UNSIGNED_BUFFER)
    static PyObject* kip_number_of(const unsigned char* bytes) {
        return PyLong_FromUnsignedNativeBytes(bytes, 16, KIP_UUID);
    }
    static int kip_bytes_of(PyObject* number, unsigned char* bytes) {
        Py_ssize_t size = PyLong_AsNativeBytes(number, bytes, 16, KIP_UUID | Py_ASNATIVEBYTES_REJECT_NEGATIVE);
        return size >= 0 && size <= 16;
    }
    #else
    static PyObject* kip_number_of(const unsigned char* bytes) {
        return _PyLong_FromByteArray(bytes, 16, 0, 0);
    }
    static int kip_bytes_of(PyObject* number, unsigned char* bytes) {
        return _PyLong_AsByteArray((PyLongObject*)number, bytes, 16, 0, 0) == 0;
    }
    #endif
    """
    void static_assert "KIP_STATIC_ASSERT"(bint condition)
    PyObject** slot_of "KIP_SLOT"(PyObject* item, Py_ssize_t offset)
    Py_ssize_t slot_offset "kip_slot_offset"(PyObject* cls, PyObject* name, PyObject* descriptor)
    bint is_plain "kip_is_plain"(PyTypeObject* type)
    int pause_collector "kip_pause_collector"()
    void resume_collector "kip_resume_collector"(int was_enabled)
    void free_by_slots "kip_free_by_slots"(PyTypeObject* type, PyTypeObject* python)
    # An instance whose slots are empty.
    PyObject* new_instance "PyType_GenericAlloc"(PyTypeObject* type, Py_ssize_t item_count)
    PyObject* list_of "kip_list_of"(PyObject** elements, Py_ssize_t count)
    PyObject* text_of_class "kip_text_of_class"(PyTypeObject* type, PyObject* text)
    const char* utf8_of "kip_utf8"(PyObject* text, Py_ssize_t* size)
    bint as_number "kip_as_number"(PyObject* value, int64_t* number)
    PyObject* lookup "kip_lookup"(PyObject* cls, PyObject* name)
    bint WITHOUT_GIL "KIP_WITHOUT_GIL"
    # A condition that compilers lay out code for.
    bint is_likely "KIP_LIKELY"(bint condition) nogil
    # The value of a slot of an object that other threads know, NULL if the slot is empty: a strong reference without a
    # GIL, a borrowed one with it. `release` follows, which gives up the strong one.
    PyObject* load_slot "kip_load_slot"(PyObject* instance, Py_ssize_t offset)
    void release "kip_release"(PyObject* value)
    # What an instance of a class is at one moment, as a stand-in to read slots of; NULL for one of another class. With
    # a GIL it is the instance itself, since nothing else runs meanwhile. `release_snapshot` follows.
    PyObject* snapshot "kip_snapshot"(
        PyObject* instance, PyTypeObject* type, const Py_ssize_t* slots, Py_ssize_t slot_count
    )
    void release_snapshot "kip_release_snapshot"(PyObject* held, const Py_ssize_t* slots, Py_ssize_t slot_count)
    PyObject* publish "kip_publish"(PyObject* instance, Py_ssize_t offset, PyObject* value)
    bint enter "kip_enter"(int* is_busy)
    void leave "kip_leave"(int* is_busy)
    # Loads with acquire and stores with release order: a pointer that is set says that all that was set before it is.
    bint is_set "kip_is_set"(PyTypeObject** pointer) nogil
    void store_release "kip_store_release"(PyTypeObject** pointer, PyTypeObject* value) nogil
    PyObject* uuid_number "kip_number_of"(const unsigned char* bytes)
    bint uuid_bytes "kip_bytes_of"(PyObject* number, unsigned char* bytes)
