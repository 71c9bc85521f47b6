/* SPDX-License-Identifier: MIT */
#include "source/torch/internal.h"
#include "source/torch/python.h"

#include <dlfcn.h>
#include <string.h>

#include "mapped.h"

struct tp_torch tp_torch = {.calibration = TP_TORCH_NOT_YET};

static void look_up(void *torch, const char *symbol, void *ret_function)
{
    void *address = dlsym(torch, symbol);

    memcpy(ret_function, &address, sizeof address);
}

static bool find_functions(void *torch, struct tp_torch_functions *into)
{
    const char *class;

    look_up(torch, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", &into->add_global);
    look_up(torch, "_ZNK2at14RecordFunction4nameEv", &into->name);
    look_up(torch, "_ZN2at14RecordFunction15currentThreadIdEv", &into->thread);
    look_up(torch, "_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE", &into->add_local);
    look_up(torch, "_ZN2at14removeCallbackEm", &into->remove);
    look_up(torch, "_ZNK2at14RecordFunction13overload_nameEv", &into->overload);
    look_up(torch, "_ZN2at15sequence_number4peekEv", &into->sequence);
    look_up(torch, "_ZN6caffe28TypeMeta13typeMetaDatasEv", &into->types);
    look_up(torch, "_ZN3c1019UndefinedTensorImpl10_singletonE", &into->undefined_tensor);
    look_up(torch, "_ZTVN2at6native16NestedTensorImplE", &class);
    into->nested_class = class != NULL ? class + 16 : NULL;
    return into->add_global != NULL && into->name != NULL && into->thread != NULL;
}

static uint32_t wanted_fields(enum tp_torch_shapes shapes)
{
    uint32_t wanted = TP_TORCH_HAS_OVERLOAD | TP_TORCH_HAS_SCOPE | TP_TORCH_HAS_SEQUENCE |
                      TP_TORCH_HAS_FORWARD_THREAD;

    if (shapes != TP_TORCH_SHAPES_OFF)
        wanted |= TP_TORCH_HAS_INPUTS | TP_TORCH_HAS_SIZES | TP_TORCH_HAS_DTYPES |
                  TP_TORCH_HAS_SCALARS | TP_TORCH_HAS_LISTS;
    if (shapes == TP_TORCH_SHAPES_ALL)
        wanted |= TP_TORCH_HAS_STRIDES | TP_TORCH_HAS_COMPLEX;
    return wanted;
}

static void register_with(void *torch)
{
    struct tp_torch_callback callback = {
        .start = tp_torch_observe_begin,
        .end = tp_torch_observe_end,
        .probability = 1.0,
        .scopes = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
        .needs_inputs = tp_torch.options.shapes != TP_TORCH_SHAPES_OFF,
    };

    if (!find_functions(torch, &tp_torch.functions)) {
        atomic_store(&tp_torch.state, TP_TORCH_ABSENT);
        return;
    }
    atomic_store(&tp_torch.state, TP_TORCH_NAMES);
    atomic_store(&tp_torch.calibration, TP_TORCH_WANTED);
    tp_torch.functions.add_global(callback);
}

/* The handle of libtorch_cpu is kept: it must never be unloaded under its callbacks. */
void tp_torch_notice(void)
{
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    char path[4096];
    void *torch;

    if (atomic_load(&tp_torch.state) != TP_TORCH_WAITING ||
        !tp_mapped_path("libtorch_cpu.so", path, sizeof path))
        return;
    if (atomic_flag_test_and_set(&busy))
        return;
    torch = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
    tp_python_find();
    if (torch != NULL && atomic_load(&tp_torch.state) == TP_TORCH_WAITING)
        register_with(torch);
    atomic_flag_clear(&busy);
}

int tp_torch_start(const struct tp_torch_options *options)
{
    int result = tp_torch_thread_init();

    tp_torch.options = *options;
    tp_torch.shapes = (uint8_t)options->shapes;
    tp_torch.wanted = wanted_fields(options->shapes);
    atomic_store(&tp_torch.how, TP_TORCH_EARLY);
    atomic_store(&tp_torch.state, TP_TORCH_WAITING);
    tp_torch.audited = tp_torch_audit_install();
    tp_torch_notice();
    return result;
}

static void *notice_apart(void *unused)
{
    (void)unused;
    tp_torch_notice();
    return NULL;
}

/* Without an interpreter nobody tells us of torch. Registering takes locks of the loader. */
static void look_for_torch(void)
{
    static bool tried; /* drain only */

    if (tried || tp_torch.audited || tp_torch.options.make_thread == NULL ||
        !tp_torch_audit_listed())
        return;
    tried = tp_torch.options.make_thread(notice_apart, NULL);
}

void tp_torch_poll(void)
{
    if (atomic_load(&tp_torch.state) == TP_TORCH_WAITING)
        look_for_torch();
    tp_torch_calibrate_ask();
    tp_torch_calibrate_help();
}

void tp_torch_stop(void)
{
    atomic_store(&tp_torch.how, TP_TORCH_NOT);
}

/* A pending call of the parent may or may not have come along: ask again, it does no harm twice. */
void tp_torch_fork_child(void)
{
    int asked = TP_TORCH_ASKED, running = TP_TORCH_RUNNING;

    atomic_compare_exchange_strong(&tp_torch.calibration, &asked, TP_TORCH_WANTED);
    atomic_compare_exchange_strong(&tp_torch.calibration, &running, TP_TORCH_WANTED);
    atomic_store(&tp_torch.without_details, 0);
    atomic_store(&tp_torch.ended_elsewhere, 0);
    atomic_store(&tp_torch.too_deep, 0);
    tp_torch_thread_forget();
}

void tp_torch_report(struct tp_torch_report *ret_report)
{
    struct tp_torch_report report = {.state = (enum tp_torch_state)atomic_load(&tp_torch.state)};

    if (report.state == TP_TORCH_FULL) {
        memcpy(report.version, tp_torch.version, sizeof report.version);
        report.fields = tp_torch.found.has;
        report.differs = tp_torch.differs;
    }
    if (report.state == TP_TORCH_NAMES || report.state == TP_TORCH_FULL ||
        report.state == TP_TORCH_FAILED)
        report.missing = tp_torch.wanted & ~report.fields;
    report.attempts = atomic_load(&tp_torch.attempts);
    report.reason = atomic_load(&tp_torch.reason);
    report.without_details = atomic_load(&tp_torch.without_details);
    report.ended_elsewhere = atomic_load(&tp_torch.ended_elsewhere);
    report.too_deep = atomic_load(&tp_torch.too_deep);
    *ret_report = report;
}
