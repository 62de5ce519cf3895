# cython: language_level=3
"""What the kernel uses of CPython, in terms of plain pointers: it counts references itself."""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t, uint64_t

cdef extern from "Python.h":
    void drop "Py_DECREF"(PyObject*)
    void drop_if_any "Py_XDECREF"(PyObject*)
    void keep "Py_INCREF"(PyObject*)
    PyTypeObject* type_of "Py_TYPE"(PyObject*)

    PyObject* None_ "Py_None"
    PyObject* True_ "Py_True"
    PyObject* False_ "Py_False"
    PyTypeObject PyUnicode_Type
    int PyObject_RichCompareBool(PyObject*, PyObject*, int)
    int Py_EQ

    PyObject* PyLong_FromLongLong(long long)
    PyObject* PyLong_FromUnsignedLongLong(unsigned long long)
    long long PyLong_AsLongLongAndOverflow(PyObject*, int*)
    bint PyLong_CheckExact(PyObject*)

    PyObject* PyFloat_FromDouble(double)
    double PyFloat_AS_DOUBLE(PyObject*)
    bint PyFloat_CheckExact(PyObject*)

    PyObject* PyUnicode_DecodeUTF8(const char*, Py_ssize_t, const char*)
    const char* PyUnicode_AsUTF8AndSize(PyObject*, Py_ssize_t*)
    bint PyUnicode_CheckExact(PyObject*)

    PyObject* PyBytes_FromStringAndSize(const char*, Py_ssize_t)
    char* PyBytes_AS_STRING(PyObject*)
    Py_ssize_t PyBytes_GET_SIZE(PyObject*)
    bint PyBytes_CheckExact(PyObject*)
    int _PyBytes_Resize(PyObject**, Py_ssize_t)

    char* PyByteArray_AS_STRING(PyObject*)

    PyObject* PyList_New(Py_ssize_t)
    void PyList_SET_ITEM(PyObject*, Py_ssize_t, PyObject*)
    PyObject* PyList_GET_ITEM(PyObject*, Py_ssize_t)
    Py_ssize_t PyList_GET_SIZE(PyObject*)
    bint PyList_CheckExact(PyObject*)

    PyObject* PyDict_New()
    int PyDict_SetItem(PyObject*, PyObject*, PyObject*)
    int PyDict_Next(PyObject*, Py_ssize_t*, PyObject**, PyObject**)
    Py_ssize_t PyDict_Size(PyObject*)
    bint PyDict_CheckExact(PyObject*)

    void* PyMem_Calloc(size_t, size_t)
    void* PyMem_Malloc(size_t)
    void PyMem_Free(void*)
    void PyErr_Clear()

cdef extern from *:
    """
    #include <structmember.h>  /* PyMemberDef, before Python 3.12 */

    /* The slot of an object at an offset that a member descriptor tells. */
    #define KIP_SLOT(item, offset) ((PyObject**)((char*)(item) + (offset)))

    /* Where a descriptor of __slots__ keeps its value, or -1 for any other object. */
    static Py_ssize_t kip_slot_offset(PyObject* descriptor) {
        if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) return -1;
        return ((PyMemberDescrObject*)descriptor)->d_member->offset;
    }

    /* An instance whose slots are empty, as object.__new__ makes it of a class whose instances have no dict. */
    static inline PyObject* kip_new(PyTypeObject* type) {
        return type->tp_alloc(type, 0);
    }

    /* What a class or its bases have under a name, through the cache of attributes; borrowed. */
    static inline PyObject* kip_lookup(PyObject* cls, PyObject* name) {
        return PyType_Check(cls) ? _PyType_Lookup((PyTypeObject*)cls, name) : NULL;
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
    PyObject** slot_of "KIP_SLOT"(PyObject* item, Py_ssize_t offset)
    Py_ssize_t slot_offset "kip_slot_offset"(PyObject* descriptor)
    PyObject* new "kip_new"(PyTypeObject* type)
    PyObject* lookup "kip_lookup"(PyObject* cls, PyObject* name)
    PyObject* uuid_number "kip_number_of"(const unsigned char* bytes)
    bint uuid_bytes "kip_bytes_of"(PyObject* number, unsigned char* bytes)
