/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_PYTHON_H
#define TP_TORCH_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The few functions of CPython that the torch source needs, found with dlsym and never linked.
 * Everything calls C functions of the interpreter, no Python source: so no Python frame of ours
 * exists, and the user's tracers, profilers and audit hooks see nothing of it.
 */

struct tp_py_object;

struct tp_python {
    /* any thread, without the interpreter lock */
    int (*Py_IsInitialized)(void);
    int (*Py_AddPendingCall)(int (*call)(void *), void *argument);
    int (*PyGILState_Ensure)(void);
    void (*PyGILState_Release)(int state);
    /* with the interpreter lock */
    struct tp_py_object *(*PySys_GetObject)(const char *name); /* borrowed */
    struct tp_py_object *(*PyDict_GetItemString)(struct tp_py_object *dict,
                                                 const char *key); /* borrowed */
    struct tp_py_object *(*PyObject_GetAttrString)(struct tp_py_object *object, const char *name);
    struct tp_py_object *(*PyObject_Call)(struct tp_py_object *function,
                                          struct tp_py_object *arguments,
                                          struct tp_py_object *keywords);
    struct tp_py_object *(*PyObject_Str)(struct tp_py_object *object);
    struct tp_py_object *(*PyBool_FromLong)(long truth);
    struct tp_py_object *(*PyComplex_FromDoubles)(double real, double imaginary);
    struct tp_py_object *(*Py_BuildValue)(const char *format, ...);
    const char *(*PyUnicode_AsUTF8)(struct tp_py_object *text);
    struct tp_py_object *(*PySequence_GetItem)(struct tp_py_object *sequence, intptr_t index);
    int (*PyObject_IsTrue)(struct tp_py_object *object);
    unsigned long long (*PyLong_AsUnsignedLongLongMask)(struct tp_py_object *number);
    void *(*PyLong_AsVoidPtr)(struct tp_py_object *number);
    void (*Py_DecRef)(struct tp_py_object *object); /* takes NULL */
    void (*PyErr_Fetch)(struct tp_py_object **type, struct tp_py_object **value,
                        struct tp_py_object **traceback);
    void (*PyErr_Restore)(struct tp_py_object *type, struct tp_py_object *value,
                          struct tp_py_object *traceback);
    void (*PyErr_Clear)(void);
    struct tp_py_object *none; /* borrowed */
};

/**
 * tp_python_find - look for the interpreter of this process; the first success is kept
 *
 * Context: any thread outside a hook.
 * Return: NULL when the process has none, or one that lacks a function.
 */
const struct tp_python *tp_python_find(void);

/** tp_python_known - what tp_python_find() has found, or NULL. Context: hook. */
const struct tp_python *tp_python_known(void);

/* All of the following: with the interpreter lock. A failure leaves no exception set. */

/** tp_python_module - an imported module, borrowed; NULL when it is not in sys.modules */
struct tp_py_object *tp_python_module(const struct tp_python *python, const char *name);

/** tp_python_get - attribute reached by a dotted path; a new reference, or NULL, as of a NULL
 * @object */
struct tp_py_object *tp_python_get(const struct tp_python *python, struct tp_py_object *object,
                                   const char *path);

/**
 * tp_python_call - call object.path with ready-made arguments; the object itself when @path is
 * empty
 * @object:    NULL makes the call fail
 * @arguments: a tuple, its reference is taken; NULL for none (or after a failed Py_BuildValue: then
 * it fails)
 * @keywords:  a dict, its reference is taken; NULL for none
 *
 * Return: a new reference, or NULL.
 */
struct tp_py_object *tp_python_call(const struct tp_python *python, struct tp_py_object *object,
                                    const char *path, struct tp_py_object *arguments,
                                    struct tp_py_object *keywords);

/** tp_python_ask - call object.path() and say whether the answer is true; @otherwise when it cannot
 * be called */
bool tp_python_ask(const struct tp_python *python, struct tp_py_object *object, const char *path,
                   bool otherwise);

/** tp_python_is_none - attribute is missing, or is None */
bool tp_python_is_none(const struct tp_python *python, struct tp_py_object *object,
                       const char *path);

#endif
