/* SPDX-License-Identifier: MIT */
#include "source/torch/python.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

static struct tp_python functions;
static _Atomic int found; /* 0 not looked yet or absent, 1 complete */

#define FIND(name)                                                                                 \
    do {                                                                                           \
        void *address = dlsym(RTLD_DEFAULT, #name);                                                \
        if (address == NULL)                                                                       \
            return false;                                                                          \
        memcpy(&into->name, &address, sizeof address);                                             \
    } while (0)

static bool find_all(struct tp_python *into)
{
    FIND(Py_IsInitialized);
    FIND(Py_AddPendingCall);
    FIND(PyGILState_Ensure);
    FIND(PyGILState_Release);
    FIND(PySys_GetObject);
    FIND(PyDict_GetItemString);
    FIND(PyObject_GetAttrString);
    FIND(PyObject_Call);
    FIND(PyObject_Str);
    FIND(PyBool_FromLong);
    FIND(PyComplex_FromDoubles);
    FIND(Py_BuildValue);
    FIND(PyUnicode_AsUTF8);
    FIND(PySequence_GetItem);
    FIND(PyObject_IsTrue);
    FIND(PyLong_AsUnsignedLongLongMask);
    FIND(PyLong_AsVoidPtr);
    FIND(Py_DecRef);
    FIND(PyErr_Fetch);
    FIND(PyErr_Restore);
    FIND(PyErr_Clear);
    into->none = dlsym(RTLD_DEFAULT, "_Py_NoneStruct");
    return into->none != NULL;
}

const struct tp_python *tp_python_known(void)
{
    return atomic_load_explicit(&found, memory_order_acquire) ? &functions : NULL;
}

/* Two threads that look at once write the same words. */
const struct tp_python *tp_python_find(void)
{
    struct tp_python fresh;

    if (tp_python_known() != NULL)
        return &functions;
    if (!find_all(&fresh))
        return NULL;
    functions = fresh;
    atomic_store_explicit(&found, 1, memory_order_release);
    return &functions;
}

struct tp_py_object *tp_python_module(const struct tp_python *python, const char *name)
{
    struct tp_py_object *modules = python->PySys_GetObject("modules");

    return modules == NULL ? NULL : python->PyDict_GetItemString(modules, name);
}

struct tp_py_object *tp_python_get(const struct tp_python *python, struct tp_py_object *object,
                                   const char *path)
{
    struct tp_py_object *held = NULL;

    while (object != NULL && *path != '\0') {
        char part[64];
        size_t length = strcspn(path, ".");
        if (length >= sizeof part)
            break;
        memcpy(part, path, length);
        part[length] = '\0';
        path += length + (path[length] == '.');
        object = python->PyObject_GetAttrString(object, part);
        python->Py_DecRef(held);
        held = object;
    }
    if (object == NULL)
        python->PyErr_Clear();
    return held;
}

struct tp_py_object *tp_python_call(const struct tp_python *python, struct tp_py_object *object,
                                    const char *path, struct tp_py_object *arguments,
                                    struct tp_py_object *keywords)
{
    struct tp_py_object *held = tp_python_get(python, object, path);
    struct tp_py_object *function = *path != '\0' ? held : object;
    struct tp_py_object *result = NULL;

    if (arguments == NULL && keywords == NULL)
        arguments = python->Py_BuildValue("()");
    if (function != NULL && arguments != NULL)
        result = python->PyObject_Call(function, arguments, keywords);
    if (result == NULL)
        python->PyErr_Clear();
    python->Py_DecRef(held);
    python->Py_DecRef(arguments);
    python->Py_DecRef(keywords);
    return result;
}

bool tp_python_ask(const struct tp_python *python, struct tp_py_object *object, const char *path,
                   bool otherwise)
{
    struct tp_py_object *answer = tp_python_call(python, object, path, NULL, NULL);
    int truth = answer == NULL ? -1 : python->PyObject_IsTrue(answer);

    if (truth < 0)
        python->PyErr_Clear();
    python->Py_DecRef(answer);
    return truth < 0 ? otherwise : truth > 0;
}

bool tp_python_is_none(const struct tp_python *python, struct tp_py_object *object,
                       const char *path)
{
    struct tp_py_object *value = tp_python_get(python, object, path);
    bool none = value == NULL || value == python->none;

    python->Py_DecRef(value);
    return none;
}
