/* SPDX-License-Identifier: MIT */
#include "source/cuda/cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent.h"
#include "base/os.h"
#include "base/text.h"
#include "capture.h"
#include "log.h"
#include "mapped.h"
#include "record.h"
#include "self.h"
#include "sources.h"

#define EXPORT __attribute__((visibility("default")))
#define EXIT_WAIT_NS 2000000000u
#define FAST_EXIT_WAIT_NS 500000000u
#define WHY_BYTES 512u

enum cuda_result { /* of the runtime and of the driver alike */
                   NO_DEVICE = 100,
                   INSUFFICIENT_DRIVER = 35
};

struct tp_cuda tp_cuda = {.mode = TP_CUDA_MODE_OFF};

static char foreign[TP_PATH_MAX]; /* CUDA_INJECTION64_PATH belongs to another; "" it is ours */
static bool preloaded;            /* before the program, not opened by the driver */
static _Atomic uint32_t exit_flush_done, no_device_said;

int InitializeInjection(void);

bool tp_cuda_here(void)
{
    return tp_cuda.pid && tp_cuda.pid == tp_os_pid();
}

static void set_mode(enum tp_cuda_mode mode)
{
    atomic_store_explicit(&tp_cuda.mode, mode, memory_order_release);
}

void tp_cuda_lose(const char *what, const char *who)
{
    char buffer[TP_PATH_MAX + 256];
    struct tp_text text;

    if (atomic_exchange(&tp_cuda.broken, 1))
        return;
    tp_text_init(&text, buffer, sizeof(buffer));
    tp_text_format(&text, "%s %s", who, what);
    tp_cuda_say(buffer);
    tp_log_warn("cuda: %s", buffer);
}

static void say_missing(const char *why)
{
    atomic_store(&tp_cuda.broken, 1);
    tp_cuda_say(why);
}

static bool any_lost(void)
{
    const struct tp_cuda_lost *lost = &tp_cuda.lost;

    return lost->dropped || lost->no_room || lost->invalid || lost->buffers;
}

/*
 * A forced flush has brought all that CUPTI has for us. The exiting thread's newest call has an API
 * record, unless CUPTI dropped some or somebody else got it.
 */
void tp_cuda_check_end(void)
{
    uint32_t called = tp_tls.cuda_correlation, came = 0;

    if (called)
        came = atomic_load(&tp_cuda.newest[tp_tls.cuda_domain]);
    if (called && (int32_t)(called - came) > 0 && !any_lost() && !tp_capture_turn())
        tp_cuda_lose("took CUPTI's buffers or switched its records off: device records are missing",
                     "another client of CUPTI");
}

/*
 * Registered inside cuInit, so it runs before the driver's own handlers, while CUPTI still works;
 * our destructor would be too late.
 */
static void at_exit(void)
{
    if (!tp_cuda_here() || atomic_exchange(&exit_flush_done, 1))
        return;
    if (!tp_cuda_flush(EXIT_WAIT_NS))
        say_missing("the last flush did not end within 2 s: the newest device records are missing");
    else
        tp_cuda_check_end();
}

static bool take_cupti(char *why)
{
    tp_cuda.pid = tp_os_pid();
    set_mode(TP_CUDA_MODE_CUPTI); /* before the first callback */
    if (tp_cupti_start(why, WHY_BYTES)) {
        if (atexit(at_exit))
            tp_log_warn("cuda: no handler at exit: the newest device records may be missing");
        tp_source_say(TP_SOURCE_CUDA, TP_SOURCE_STARTED, NULL);
        return true;
    }
    tp_cuda.pid = 0;
    return false;
}

static void without_cupti(const char *why)
{
    static char told[WHY_BYTES + 64];
    bool hooks = tp_agent.config.cuda != TP_CUDA_CUPTI;
    struct tp_text text;

    tp_text_init(&text, told, sizeof(told));
    tp_text_format(&text, "%s: %s", why,
                   hooks ? "calls only, no device times" : "nothing of CUDA is recorded");
    set_mode(hooks ? TP_CUDA_MODE_HOOKS : TP_CUDA_MODE_OFF);
    tp_source_say(TP_SOURCE_CUDA, hooks ? TP_SOURCE_STARTED : TP_SOURCE_FAILED, told);
    tp_cuda_say(told);
    tp_log_warn("cuda: %s", told);
}

void tp_cuda_start(const char *where)
{
    static char why[WHY_BYTES];
    uint32_t idle = 0;

    if (tp_cuda_mode() != TP_CUDA_MODE_UNDECIDED || !tp_recording() ||
        !atomic_compare_exchange_strong(&tp_cuda.starting, &idle, 1))
        return;
    /* CUDA makes threads: now one of ours may run, too */
    if (tp_agent_arm()) {
        tp_agent.live->has_threads = true;
        tp_agent_go_live();
    }
    if (!take_cupti(why))
        without_cupti(why);
    else if (where)
        tp_cuda_say(where);
    atomic_store(&tp_cuda.starting, 0);
}

EXPORT int InitializeInjection(void)
{
    int kept = errno;

    if (preloaded)
        tp_cuda_start(NULL);
    else
        tp_log_info("cuda: not preloaded, only named by CUDA_INJECTION64_PATH: not recording");
    errno = kept;
    return 1;
}

_Atomic uint32_t tp_cuda_hooks_seen;

void tp_cuda_hooks_first(uint32_t what)
{
    uint32_t before = atomic_fetch_or(&tp_cuda_hooks_seen, what);

    if (!(before & TP_CUDA_HOOKS_SEEN) && tp_agent.config.cuda == TP_CUDA_HOOKS)
        tp_cuda_say("TPAGENT_CUDA=hooks");
}

static void say_no_device(int result)
{
    if (atomic_exchange(&no_device_said, 1))
        return;
    const char *what = result == NO_DEVICE ? "no CUDA device" : "no CUDA driver";
    tp_log_warn("cuda: %s: CUDA calls fail (%d), nothing of a device is recorded", what, result);
    tp_source_say(TP_SOURCE_CUDA, TP_SOURCE_STARTED, what);
}

void tp_cuda_after_call(int result)
{
    int kept = errno;

    if (result == NO_DEVICE || result == INSUFFICIENT_DRIVER)
        say_no_device(result);
    else if (result == 0 && tp_cuda_mode() == TP_CUDA_MODE_UNDECIDED)
        /* CUDA works and the driver did not call us */
        tp_cuda_start(foreign[0]
                          ? foreign
                          : "the driver did not ask for CUDA_INJECTION64_PATH: started late");
    errno = kept;
}

/* A preloaded object stands before libc; one that the driver opens, behind it. */
static bool is_preloaded(void)
{
    return dlsym(RTLD_DEFAULT, "pthread_create") == (void *)(uintptr_t)pthread_create ||
           dlsym(RTLD_DEFAULT, "_exit") == (void *)(uintptr_t)_exit;
}

static int start(const struct tp_config *config, const char **ret_why)
{
    if (config->cuda == TP_CUDA_OFF)
        return 0;
    preloaded = is_preloaded();
    if (config->cuda == TP_CUDA_HOOKS) {
        set_mode(TP_CUDA_MODE_HOOKS);
        return 0;
    }
    set_mode(TP_CUDA_MODE_UNDECIDED);
    if (tp_self_offer("CUDA_INJECTION64_PATH", foreign, sizeof(foreign)) == 0) {
        foreign[0] = '\0';
        return 0;
    }
    *ret_why = foreign;
    tp_log_warn("cuda: %s: left as it is, recording begins at the first call that is seen",
                foreign);
    return 0;
}

static void fork_child(void)
{
    if (tp_cuda.pid) {
        /* dead here, as CUDA is; nothing of it is touched */
        set_mode(TP_CUDA_MODE_OFF);
        tp_cuda.pid = 0;
        tp_cuda_buffers_forget();
        tp_cuda_flusher_forget();
    }
    atomic_store(&tp_cuda.starting, 0);
    atomic_store(&tp_cuda_hooks_seen, 0);
    atomic_store(&exit_flush_done, 0);
    tp_tls.cuda_depth = 0;
    tp_tls.cuda_correlation = 0;
    memset(&tp_cuda.lost, 0, sizeof(tp_cuda.lost));
    atomic_store(&tp_cuda.until, 0);
    memset(&tp_cuda.newest, 0, sizeof(tp_cuda.newest));
    tp_cuda.is_started = false;
    atomic_store(&tp_cuda.broken, 0);
    tp_cuda_lines_forget();
}

/*
 * Hooks see calls by name. A program with the runtime inside, or one that has the driver's
 * functions from dlsym or cuGetProcAddress, passes them by; of a library that asks for devices, and
 * goes on otherwise, they see the question. Who ends a process may be a signal handler: the loader
 * is not asked.
 */
static void say_unseen(void)
{
    static const char none[] =
        "the driver is loaded, but no call came by: a runtime inside of the program or the "
        "driver's functions by address, which only CUPTI sees";
    static const char no_work[] =
        "no launch, copy or allocation came by: there was none, or it went by a runtime inside of "
        "the program or by functions' addresses, which only CUPTI sees";
    uint32_t seen = atomic_fetch_or(&tp_cuda_hooks_seen, TP_CUDA_HOOKS_SEEN);

    if (tp_cuda_mode() != TP_CUDA_MODE_HOOKS || seen & TP_CUDA_WORK_SEEN ||
        !tp_mapped_listed("/libcuda.so"))
        return;
    if (!seen)
        tp_log_warn("cuda: %s", none);
    tp_cuda_say(seen ? no_work : none);
}

/* Not at exit, which has flushed before: at _exit, where no handler runs. */
static void stop(void)
{
    if (tp_cuda_here() && !atomic_exchange(&exit_flush_done, 1)) {
        if (!tp_cuda_flush(FAST_EXIT_WAIT_NS))
            say_missing(
                "the flush at _exit did not end in time: the newest device records are missing");
        else
            tp_cuda_check_end();
    }
    say_unseen();
    if (atomic_load(&tp_agent.live->state) == TP_ARMED)
        tp_cuda_report();
}

const struct tp_source tp_source_cuda = {
    .start = start, .tick = tp_cuda_report, .fork_child = fork_child, .stop = stop};
