/* SPDX-License-Identifier: MIT */
#include "source/torch/probe.h"

#include <string.h>

struct run {
    const struct tp_python *python;
    struct tp_py_object *torch;
    struct tp_torch_search *search;
    struct tp_py_object *samples[TP_TORCH_SAMPLES]; /* NULL: could not be made */
};

/* Attribute of a module that need not be imported; true when it is there and true. */
static bool module_flag(const struct tp_python *python, const char *module, const char *path)
{
    struct tp_py_object *value = tp_python_get(python, tp_python_module(python, module), path);
    bool flag = value != NULL && python->PyObject_IsTrue(value) > 0;

    python->Py_DecRef(value);
    return flag;
}

static bool module_has(const struct tp_python *python, const char *module, const char *path)
{
    struct tp_py_object *object = tp_python_module(python, module);

    return object != NULL && !tp_python_is_none(python, object, path);
}

static bool text_has(const struct tp_python *python, struct tp_py_object *object, const char *path,
                     const char *wanted)
{
    struct tp_py_object *value = tp_python_call(python, object, path, NULL, NULL);
    struct tp_py_object *text = value != NULL ? python->PyObject_Str(value) : NULL;
    const char *bytes = text != NULL ? python->PyUnicode_AsUTF8(text) : NULL;
    bool has = bytes != NULL && strstr(bytes, wanted) != NULL;

    if (bytes == NULL)
        python->PyErr_Clear();
    python->Py_DecRef(text);
    python->Py_DecRef(value);
    return has;
}

static bool is_call_none(const struct tp_python *python, struct tp_py_object *object,
                         const char *path)
{
    struct tp_py_object *value = tp_python_call(python, object, path, NULL, NULL);
    bool none = value == NULL || value == python->none;

    python->Py_DecRef(value);
    return none;
}

const char *tp_torch_probe_moment(const struct tp_python *python, struct tp_py_object *torch)
{
    static const char excluded[] = "_C._dispatch_tls_local_exclude_set";
    struct tp_py_object *spec = tp_python_get(python, torch, "__spec__");
    struct tp_py_object *importing = tp_python_get(python, spec, "_initializing");
    bool imported = spec != NULL && (importing == NULL || python->PyObject_IsTrue(importing) == 0);

    python->Py_DecRef(importing);
    python->Py_DecRef(spec);
    if (!imported)
        return "torch is being imported";
    if (tp_python_ask(python, torch, "_C._autograd._profiler_enabled", false) ||
        module_flag(python, "torch.autograd.profiler", "_is_profiler_enabled"))
        return "the program's own profiler is running";
    if (!is_call_none(python, torch, "_C._get_tracing_state"))
        return "the program is being traced by torch.jit";
    if (module_flag(python, "torch.compiler", "_is_compiling_flag") ||
        module_has(python, "torch._guards", "_TLS.compile_context") ||
        module_has(python, "torch._guards", "_TLS.tracing_context"))
        return "torch.compile is at work";
    if (!is_call_none(python, torch, "_C._functorch.peek_interpreter_stack") ||
        text_has(python, torch, "_C._dispatch_tls_local_include_set", "FuncTorch"))
        return "a torch.func transform is at work";
    if (text_has(python, torch, excluded, "PythonTLSSnapshot") ||
        (text_has(python, torch, excluded, "AutogradOther") &&
         !tp_python_ask(python, torch, "_C.is_inference_mode_enabled", false)))
        return "an operator in Python is at work";
    if (tp_python_ask(python, torch, "_C._len_torch_dispatch_stack", false) &&
        !module_has(python, "torch.utils._python_dispatch", "_disable_current_modes"))
        return "a dispatch mode of the program is at work";
    return NULL;
}

static struct tp_py_object *operator(struct run *run, const char *name,
                                     struct tp_py_object *arguments, struct tp_py_object *keywords)
{
    struct tp_py_object *functions =
        tp_python_get(run->python, run->torch, "_C._VariableFunctions");
    struct tp_py_object *result = tp_python_call(run->python, functions, name, arguments, keywords);

    run->python->Py_DecRef(functions);
    return result;
}

/* N: the reference is passed on, a missing one makes the call fail quietly. */
static struct tp_py_object *ones(struct run *run, const char *dtype, struct tp_py_object *shape)
{
    const struct tp_python *python = run->python;
    struct tp_py_object *type = tp_python_get(python, run->torch, dtype);

    if (type == NULL || shape == NULL)
        return NULL;
    return operator(run, "ones", python->Py_BuildValue("(N)", shape),
                    python->Py_BuildValue("{sNss}", "dtype", type, "device", "cpu"));
}

/* Nothing may start threads that torch computes with: a child that the program forks later would
 * wait for them. To make a sparse tensor of another one does. */
static struct tp_py_object *empty_sparse(struct run *run)
{
    const struct tp_python *python = run->python;
    struct tp_py_object *layout = tp_python_get(python, run->torch, "sparse_coo");

    if (layout == NULL)
        return NULL;
    return operator(run, "empty", python->Py_BuildValue("((iii))", 3, 5, 7),
                    python->Py_BuildValue("{sNss}", "layout", layout, "device", "cpu"));
}

static const unsigned char *address_of(const struct tp_python *python, struct tp_py_object *tensor)
{
    struct tp_py_object *number = tp_python_get(python, tensor, "_cdata");
    void *address = number != NULL ? python->PyLong_AsVoidPtr(number) : NULL;

    if (address == NULL)
        python->PyErr_Clear();
    python->Py_DecRef(number);
    return address;
}

static void make_samples(struct run *run)
{
    const struct tp_python *python = run->python;
    struct tp_py_object **samples = run->samples;

    samples[TP_TORCH_SAMPLE_X] = ones(run, "float32", python->Py_BuildValue("(iii)", 3, 5, 7));
    samples[TP_TORCH_SAMPLE_Y] = ones(run, "float64", python->Py_BuildValue("(iii)", 3, 5, 7));
    samples[TP_TORCH_SAMPLE_X2] = ones(run, "float32", python->Py_BuildValue("(iii)", 3, 5, 7));
    samples[TP_TORCH_SAMPLE_COMPLEX] =
        ones(run, "complex64", python->Py_BuildValue("(iii)", 3, 5, 7));
    samples[TP_TORCH_SAMPLE_LONG] =
        ones(run, "float32", python->Py_BuildValue("(iiiiii)", 2, 1, 3, 1, 2, 5));
    if (samples[TP_TORCH_SAMPLE_X] != NULL) {
        samples[TP_TORCH_SAMPLE_TURNED] = operator(
            run, "transpose", python->Py_BuildValue("(Oii)", samples[TP_TORCH_SAMPLE_X], 0, 2),
            NULL);
    }
    samples[TP_TORCH_SAMPLE_SPARSE] = empty_sparse(run);
    for (size_t i = 0; i < TP_TORCH_SAMPLES; i++)
        run->search->samples[i] = samples[i] != NULL ? address_of(python, samples[i]) : NULL;
}

/* The bits of a set of dispatch keys; 0 where this torch does not tell. Takes the reference. */
static uint64_t raw_keys(struct run *run, struct tp_py_object *set)
{
    const struct tp_python *python = run->python;
    struct tp_py_object *raw = tp_python_call(python, set, "raw_repr", NULL, NULL);
    uint64_t keys = raw != NULL ? python->PyLong_AsUnsignedLongLongMask(raw) : 0;

    python->PyErr_Clear();
    python->Py_DecRef(raw);
    python->Py_DecRef(set);
    return keys;
}

static uint64_t keys_named(struct run *run, const char *path)
{
    const struct tp_python *python = run->python;
    struct tp_py_object *key = tp_python_get(python, run->torch, path);

    if (key == NULL)
        return 0;
    return raw_keys(run, tp_python_call(python, run->torch, "_C.DispatchKeySet",
                                        python->Py_BuildValue("(N)", key), NULL));
}

static void ask_keys(struct run *run)
{
    const struct tp_python *python = run->python;

    run->search->sample_keys = raw_keys(
        run, tp_python_call(python, run->torch, "_C._dispatch_keys",
                            python->Py_BuildValue("(O)", run->samples[TP_TORCH_SAMPLE_X]), NULL));
    run->search->keys_nested = keys_named(run, "_C.DispatchKey.NestedTensor");
    run->search->keys_sparse = keys_named(run, "_C.DispatchKey.Sparse");
}

static void probe(struct run *run, enum tp_torch_probe which, const char *name,
                  struct tp_py_object *arguments, struct tp_py_object *keywords)
{
    run->search->probe = which;
    run->python->Py_DecRef(operator(run, name, arguments, keywords));
    run->search->probe = TP_TORCH_PROBES;
}

static void set_gradients(struct run *run, bool on)
{
    const struct tp_python *python = run->python;

    python->Py_DecRef(tp_python_call(python, run->torch, "_C._set_grad_enabled",
                                     python->Py_BuildValue("(N)", python->PyBool_FromLong(on)),
                                     NULL));
}

static void probe_user_range(struct run *run)
{
    const struct tp_python *python = run->python;
    struct tp_py_object *pair =
        tp_python_call(python, run->torch, "_C._jit_get_operation",
                       python->Py_BuildValue("(s)", "profiler::_record_function_enter"), NULL);
    struct tp_py_object *exits =
        tp_python_call(python, run->torch, "_C._jit_get_operation",
                       python->Py_BuildValue("(s)", "profiler::_record_function_exit"), NULL);
    struct tp_py_object *enter = pair != NULL ? python->PySequence_GetItem(pair, 0) : NULL;
    struct tp_py_object *leave = exits != NULL ? python->PySequence_GetItem(exits, 0) : NULL;

    if (enter != NULL && leave != NULL) {
        run->search->probe = TP_TORCH_PROBE_USER;
        struct tp_py_object *handle =
            tp_python_call(python, enter, "",
                           python->Py_BuildValue("(sO)", TP_TORCH_PROBE_NAME, python->none), NULL);
        run->search->probe = TP_TORCH_PROBES;
        if (handle != NULL)
            python->Py_DecRef(
                tp_python_call(python, leave, "", python->Py_BuildValue("(N)", handle), NULL));
    }
    python->PyErr_Clear();
    python->Py_DecRef(enter);
    python->Py_DecRef(leave);
    python->Py_DecRef(pair);
    python->Py_DecRef(exits);
}

static void run_probes(struct run *run)
{
    const struct tp_python *python = run->python;
    struct tp_py_object *x = run->samples[TP_TORCH_SAMPLE_X], *y = run->samples[TP_TORCH_SAMPLE_Y];
    struct tp_py_object *x2 = run->samples[TP_TORCH_SAMPLE_X2],
                        *c = run->samples[TP_TORCH_SAMPLE_COMPLEX];

    if (x == NULL || y == NULL || x2 == NULL)
        return;
    probe(run, TP_TORCH_PROBE_ADD, "add", python->Py_BuildValue("(OO)", x, y),
          python->Py_BuildValue("{si}", "alpha", 3));
    set_gradients(run, true);
    probe(run, TP_TORCH_PROBE_GRAD, "add", python->Py_BuildValue("(OO)", x, y),
          python->Py_BuildValue("{si}", "alpha", 3));
    set_gradients(run, false);
    probe(run, TP_TORCH_PROBE_SUM, "sum", python->Py_BuildValue("(O[ii])", x, 0, 2),
          python->Py_BuildValue("{sN}", "keepdim", python->PyBool_FromLong(1)));
    probe(run, TP_TORCH_PROBE_CLAMP, "clamp", python->Py_BuildValue("(Odd)", x, 0.25, 0.75), NULL);
    probe(run, TP_TORCH_PROBE_CAT, "cat", python->Py_BuildValue("([OO])", x, x2), NULL);
    if (c != NULL)
        probe(run, TP_TORCH_PROBE_COMPLEX, "add", python->Py_BuildValue("(OO)", c, c),
              python->Py_BuildValue("{sN}", "alpha", python->PyComplex_FromDoubles(1.0, 2.0)));
    probe(run, TP_TORCH_PROBE_NUMBER, "mul", python->Py_BuildValue("(Od)", x, 2.5), NULL);
    probe_user_range(run);
}

/* The program's own operator overrides and modes must not see our operators. */
struct shield {
    struct tp_py_object *overrides, *modes;
    bool gradients;
};

static struct tp_py_object *enter(struct run *run, struct tp_py_object *manager)
{
    if (manager != NULL)
        run->python->Py_DecRef(tp_python_call(run->python, manager, "__enter__", NULL, NULL));
    return manager;
}

static void leave(struct run *run, struct tp_py_object *manager)
{
    const struct tp_python *python = run->python;

    if (manager == NULL)
        return;
    python->Py_DecRef(tp_python_call(
        python, manager, "__exit__",
        python->Py_BuildValue("(OOO)", python->none, python->none, python->none), NULL));
    python->Py_DecRef(manager);
}

static struct tp_py_object *modes_off(struct run *run)
{
    const struct tp_python *python = run->python;

    if (!tp_python_ask(python, run->torch, "_C._len_torch_dispatch_stack", false))
        return NULL;
    return tp_python_call(python, tp_python_module(python, "torch.utils._python_dispatch"),
                          "_disable_current_modes", NULL, NULL);
}

bool tp_torch_probe_run(const struct tp_python *python, struct tp_py_object *torch,
                        struct tp_torch_search *search)
{
    struct run run = {.python = python, .torch = torch, .search = search};
    struct shield shield;

    search->probe = TP_TORCH_PROBES;
    search->inference_mode = tp_python_ask(python, torch, "_C.is_inference_mode_enabled", false);
    shield.overrides =
        enter(&run, tp_python_call(python, torch, "_C.DisableTorchFunction", NULL, NULL));
    shield.modes = enter(&run, modes_off(&run));
    shield.gradients = tp_python_ask(python, torch, "is_grad_enabled", true);
    set_gradients(&run, false);
    make_samples(&run);
    ask_keys(&run);
    run_probes(&run);
    tp_torch_search_tensors(search);
    for (size_t i = 0; i < TP_TORCH_SAMPLES; i++)
        python->Py_DecRef(run.samples[i]);
    set_gradients(&run, shield.gradients);
    leave(&run, shield.modes);
    leave(&run, shield.overrides);
    python->PyErr_Clear();
    return search->seen & 1u << TP_TORCH_PROBE_ADD;
}
