/* SPDX-License-Identifier: MIT */
#include "source/torch/probe.h"

#include <string.h>

#include "record.h"

/*
 * When calibration runs: in a pending call of the interpreter, which is on its main thread, between
 * two bytecodes, with its lock held. Asking for one needs neither the lock nor memory, so
 * operators, the audit hook and the drain all ask while it is wanted:
 *
 *   NOT_YET -> WANTED -> ASKED -> RUNNING -> DONE | GIVEN_UP
 *                 ^--------------------'  not a good moment: somebody asks again
 */

enum {
    ATTEMPTS = 4, /* runs that may come out incomplete before the best one is taken */
    PATIENCE = 3, /* polls that a pending call may take */
    HELPERS = 3,
};

static struct tp_torch_search *running; /* only on the calibrating thread, while torch calls back */

static void *look_begin(void **ret_context, const unsigned char *record)
{
    *ret_context = NULL;
    tp_torch_search_record(running, record);
    return ret_context;
}

static void look_end(const unsigned char *record, void *context)
{
    (void)record;
    (void)context;
}

static void read_version(const struct tp_python *python, struct tp_py_object *torch)
{
    struct tp_py_object *text = tp_python_get(python, torch, "__version__");
    const char *version = text != NULL ? python->PyUnicode_AsUTF8(text) : NULL;

    if (version == NULL)
        python->PyErr_Clear();
    else
        strncpy(tp_torch.version, version, sizeof tp_torch.version - 1);
    python->Py_DecRef(text);
}

static void publish(const struct tp_torch_search *search)
{
    const uint32_t inputs = TP_TORCH_HAS_INPUTS | TP_TORCH_HAS_SIZES;
    uint8_t early = TP_TORCH_EARLY;

    tp_torch.found = search->found;
    tp_torch.found.names_scalar_lists = search->guess->names_scalar_lists;
    tp_torch.differs = tp_torch_search_differences(search);
    if ((search->found.has & inputs) != inputs)
        tp_torch.shapes = TP_TORCH_SHAPES_OFF;
    tp_torch.flags = tp_torch.wanted & ~search->found.has ? TP_OP_NO_DETAILS : 0;
    /* a stop that came meanwhile stays */
    atomic_compare_exchange_strong(&tp_torch.how, &early,
                                   (tp_torch.wanted & ~search->found.has) == 0 &&
                                           (search->found.has & TP_TORCH_HAS_NAME) &&
                                           !search->found.old_strings
                                       ? TP_TORCH_WHOLLY
                                       : TP_TORCH_PARTLY);
    atomic_store(&tp_torch.reason,
                 tp_torch.wanted & ~search->found.has ? "not all fields were found" : NULL);
    atomic_store(&tp_torch.state, TP_TORCH_FULL);
}

static bool search_all(const struct tp_python *python, struct tp_py_object *torch,
                       struct tp_torch_search *search)
{
    struct tp_torch_callback callback = {
        .start = look_begin,
        .end = look_end,
        .probability = 1.0,
        .scopes = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
        .needs_inputs = 1,
    };
    uint64_t handle;
    bool seen;

    tp_safecopy_init(&search->copy);
    running = search;
    handle = tp_torch.functions.add_local(callback);
    seen = tp_torch_probe_run(python, torch, search);
    tp_torch.functions.remove(handle);
    running = NULL;
    tp_safecopy_fini(&search->copy);
    return seen;
}

/* Returns what calibration is to be from now on. */
static enum tp_torch_calibration attempt(const struct tp_python *python,
                                         struct tp_torch_thread *self)
{
    struct tp_py_object *torch = tp_python_module(python, "torch");
    struct tp_torch_search search = {.probe = TP_TORCH_PROBES};
    const char *reason =
        torch == NULL ? "torch is being imported" : tp_torch_probe_moment(python, torch);
    bool seen;

    if (reason != NULL) {
        atomic_store(&tp_torch.reason, reason);
        return TP_TORCH_WANTED;
    }
    read_version(python, torch);
    search.guess = tp_torch_layout_guess(tp_torch.version);
    self->quiet = true;
    seen = search_all(python, torch, &search);
    self->quiet = false;
    if (!seen) {
        atomic_store(&tp_torch.reason, "torch does not report the operators of the main thread");
        return TP_TORCH_WANTED;
    }
    if ((tp_torch.wanted & ~search.found.has) &&
        atomic_fetch_add(&tp_torch.attempts, 1) + 1 < ATTEMPTS)
        return TP_TORCH_WANTED;
    publish(&search);
    return TP_TORCH_DONE;
}

static int calibrate(void *unused)
{
    const struct tp_python *python = tp_python_known();
    struct tp_torch_thread *self = tp_torch_self != NULL ? tp_torch_self : tp_torch_thread_claim();
    struct tp_py_object *type, *value, *traceback;
    int asked = TP_TORCH_ASKED;

    (void)unused;
    if (python == NULL ||
        !atomic_compare_exchange_strong(&tp_torch.calibration, &asked, TP_TORCH_RUNNING))
        return 0;
    python->PyErr_Fetch(&type, &value, &traceback);
    atomic_store(&tp_torch.calibration,
                 self != NULL ? (int)attempt(python, self) : TP_TORCH_WANTED);
    python->PyErr_Restore(type, value, traceback);
    return 0;
}

/* If the interpreter is ending meanwhile, this thread ends in Ensure. */
static void *help(void *argument)
{
    const struct tp_python *python = argument;
    int lock = python->PyGILState_Ensure();

    calibrate(NULL);
    python->PyGILState_Release(lock);
    tp_torch_thread_exit();
    return NULL;
}

void tp_torch_calibrate_help(void)
{
    static unsigned waited, helpers; /* drain only */
    const struct tp_python *python = tp_python_known();

    waited = atomic_load(&tp_torch.calibration) == TP_TORCH_ASKED ? waited + 1 : 0;
    if (waited < PATIENCE || helpers == HELPERS || python == NULL || !python->Py_IsInitialized() ||
        tp_torch.options.make_thread == NULL)
        return;
    waited = 0;
    helpers++;
    tp_torch.options.make_thread(help, (void *)(uintptr_t)python);
}

void tp_torch_calibrate_ask(void)
{
    const struct tp_python *python;
    int wanted = TP_TORCH_WANTED;

    if (atomic_load_explicit(&tp_torch.calibration, memory_order_relaxed) != TP_TORCH_WANTED)
        return;
    if (tp_torch.functions.add_local == NULL || tp_torch.functions.remove == NULL) {
        atomic_store(&tp_torch.reason, "this torch cannot add a callback for one thread");
        atomic_store(&tp_torch.state, TP_TORCH_FAILED);
        atomic_store(&tp_torch.calibration, TP_TORCH_GIVEN_UP);
        return;
    }
    python = tp_python_known();
    if (python == NULL)
        atomic_store(&tp_torch.reason, "there is no Python interpreter to calibrate with");
    if (python == NULL || !python->Py_IsInitialized())
        return;
    if (!atomic_compare_exchange_strong(&tp_torch.calibration, &wanted, TP_TORCH_ASKED))
        return;
    if (python->Py_AddPendingCall(calibrate, NULL) != 0)
        atomic_store(&tp_torch.calibration, TP_TORCH_WANTED);
}
