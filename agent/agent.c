/* SPDX-License-Identifier: MIT */
#include "agent.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <threads.h>
#include <unistd.h>

#include "base/error.h"
#include "base/os.h"
#include "base/text.h"
#include "capture.h"
#include "capture_signal.h"
#include "clock.h"
#include "drain.h"
#include "log.h"
#include "plain.h"
#include "python_frames.h"
#include "real.h"
#include "record.h"
#include "recording.h"
#include "source/malloc/malloc.h"
#include "sources.h"

#define EXPORT __attribute__((visibility("default")))
#define EXIT_WAIT_NS 2000000000u
#define FAST_EXIT_WAIT_NS 200000000u
#define GONE_WAIT_NS 100000000u

struct tp_agent tp_agent;

bool tp_agent_here(void)
{
    struct tp_live *live = tp_agent.live;

    return live && live->pid && live->pid == tp_os_pid();
}

/* Not a vfork child: it runs in its parent's memory and must change nothing there. */
static bool is_ours(void)
{
    struct tp_live *live = tp_agent.live;

    return !live->pid || live->pid == tp_os_pid();
}

bool tp_recording(void)
{
    struct tp_live *live = tp_agent.live;

    return live && atomic_load_explicit(&live->state, memory_order_relaxed) < TP_ENDED;
}

/* Directory and the head of meta.jsonl; what a process without events leaves behind. */
static int open_instance(struct tp_live *live)
{
    int error = tp_recording_open(live);

    if (error)
        return error;
    memcpy(tp_agent.last_uuid, live->uuid, sizeof(live->uuid));
    tp_agent.armed_pid = live->pid;
    return 0;
}

static int arm(struct tp_live *live)
{
    int error = tp_recording_has_room();

    if (!error && !live->pid)
        error = open_instance(live);
    if (!error)
        error = tp_recording_open_names(live);
    if (!error)
        tp_recording_second_clock(live);
    if (!error) {
        error = tp_drain_open(live);
        if (error)
            tp_recording_unmap_names(live);
    }
    if (!error)
        tp_sources_look();
    return error;
}

/* In the state TP_ARMING, which this thread has set. */
static bool arm_here(struct tp_live *live)
{
    uint8_t attaching = tp_tls.attaching;

    tp_tls.attaching = 1;
    atomic_signal_fence(memory_order_seq_cst);
    int kept = errno, error = arm(live);
    atomic_store_explicit(&live->state, error ? TP_FAILED : TP_ARMED, memory_order_release);
    if (error && tp_log_same() && tp_recording_may_complain())
        tp_log_warn("not recording pid %u: %s: %s", tp_os_pid(), tp_recording_failed_at(),
                    tp_error_text(error));
    tp_tls.attaching = attaching;
    errno = kept;
    return !error;
}

/* TPAGENT_WHEN_FULL=wait. Never in a signal handler of the thread that arms: that one is turned
 * away before. */
static bool wait_until_armed(struct tp_live *live)
{
    _Atomic uint32_t never = 0;

    for (int i = 0; i < 10000 && atomic_load(&live->state) == TP_ARMING; i++)
        tp_os_wait(&never, 0, 100000);
    uint32_t state = atomic_load(&live->state);
    /* asleep: the agent's start was waited for, and arming is still to be done */
    return state == TP_ARMED || state == TP_LIVE || (state == TP_ASLEEP && tp_agent_arm());
}

bool tp_agent_arm(void)
{
    struct tp_live *live = tp_agent.live;
    uint32_t state = atomic_load_explicit(&live->state, memory_order_acquire);

    if (tp_likely(state == TP_ARMED || state == TP_LIVE))
        return true;
    if (atomic_load_explicit(&tp_agent.filtered, memory_order_relaxed))
        return false;
    if (state != TP_ASLEEP || !atomic_compare_exchange_strong(&live->state, &state, TP_ARMING)) {
        if (state == TP_ARMING && tp_agent.config.when_full == TP_FULL_WAIT)
            return wait_until_armed(live);
        if (state == TP_ARMING)
            atomic_fetch_add_explicit(&live->early_drops, 1, memory_order_relaxed);
        return false;
    }
    return arm_here(live);
}

/* Of a process in which nothing happened but allocations. */
static void tell_unrecorded(const struct tp_live *live)
{
    if (!live->pid && tp_agent.config.alloc.choice >= TP_ALLOC_SAMPLE &&
        tp_source_wanted(TP_SOURCE_MALLOC) && !atomic_load(&tp_agent.filtered) &&
        tp_agent.own_pid == tp_os_pid())
        tp_recording_tell_unrecorded();
}

void tp_agent_end(const char *reason, uint64_t wait_ns)
{
    struct tp_live *live = tp_agent.live;

    if (!live || atomic_load(&live->state) >= TP_ENDED)
        return;
    if (!tp_agent_here()) {
        tell_unrecorded(live);
        return;
    }
    tp_sources_stop();
    if (atomic_load(&live->state) <
        TP_ARMED) { /* nothing happened: start and end are the recording */
        atomic_store(&live->state, TP_ENDED);
        tp_drain_end_idle(live, reason);
    } else if (!tp_drain_end(live, reason, wait_ns)) {
        return;
    }
    uint32_t error = atomic_load(&live->said_full);
    if (!tp_log_same())
        return;
    if (error && tp_recording_may_complain())
        tp_log_warn("%s: some events could not be written: %s", live->dir,
                    tp_error_text((int)error));
    else if (!error && tp_agent.root)
        tp_log_info("recorded in %s", tp_agent.run_dir);
}

/* --- interposed
 * ----------------------------------------------------------------------------------------- */

void tp_agent_go_live(void)
{
    struct tp_live *live = tp_agent.live;
    int kept = errno;

    if (live && !tp_tls.ours &&
        atomic_load_explicit(&live->state, memory_order_acquire) == TP_ARMED && tp_agent_here())
        tp_drain_start(live, tp_real.pthread_create);
    errno = kept;
}

/* So often a thread drains for itself. */
#define DRAINS_IN_MALLOC 4u

void tp_agent_go_live_if_busy(void)
{
    struct tp_live *live = tp_agent.live;

    if (tp_likely(live->drains_in_malloc < DRAINS_IN_MALLOC) || live->has_threads)
        return;
    live->drains_in_malloc = 0;
    if (!tp_plain_is_here())
        return;
    uint64_t signals;
    tp_os_block_signals(&signals); /* a handler's allocations count */
    struct tp_tls kept = tp_tls;
    tp_tls.thread = NULL;
    tp_tls.ours = 1;
    atomic_signal_fence(memory_order_seq_cst);
    int kept_errno = errno;
    if (atomic_load_explicit(&live->state, memory_order_acquire) == TP_ARMED && tp_agent_here())
        tp_drain_start(live, tp_real.pthread_create);
    errno = kept_errno;
    atomic_signal_fence(memory_order_seq_cst);
    tp_tls = kept;
    tp_os_restore_signals(&signals);
}

/* The program has made its first thread: now one of ours may run beside it. */
static void first_thread(void)
{
    tp_agent.live->has_threads = true;
    tp_agent_go_live();
}

/* Return: whether the program has made none yet. */
static bool before_thread(void)
{
    bool first = tp_agent.live && !tp_agent.live->has_threads && !tp_agent.filtered && is_ours();

    if (first && tp_agent.root) /* before it, so that its first events find everything ready */
        tp_agent_arm();
    if (first && tp_agent.config.alloc.choice == TP_ALLOC_ALL) /* it may fill a ring at once */
        first_thread();
    return first;
}

EXPORT int pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    if (!tp_real.pthread_create)
        tp_real_find();
    if (!tp_real.pthread_create)
        return EAGAIN;
    bool first = before_thread();
    int error = tp_real.pthread_create(ret_thread, attributes, start, argument);
    if (first && !error)
        first_thread();
    return error;
}

/* libc's makes the thread without the name that is wrapped above. */
EXPORT int thrd_create(thrd_t *ret_thread, thrd_start_t start, void *argument)
{
    if (!tp_real.thrd_create)
        tp_real_find();
    if (!tp_real.thrd_create)
        return thrd_error;
    bool first = before_thread();
    int result = tp_real.thrd_create(ret_thread, start, argument);
    if (first && result == thrd_success)
        first_thread();
    return result;
}

/* An interpreter may, while the stacks of other threads' allocations are asked for. */
EXPORT int dlclose(void *handle)
{
    if (tp_unlikely(!tp_real.dlclose))
        tp_real_find();
    if (!tp_real.dlclose)
        return -1;
    tp_python_frames_unload();
    int result = tp_real.dlclose(handle);
    tp_python_frames_unloaded();
    return result;
}

/* The drain thread has said that it is done: it is still to leave the kernel. */
static void wait_until_gone(struct tp_live *live, uint64_t deadline_ns)
{
    _Atomic uint32_t never = 0;

    while (live->drain_tid && tp_os_thread_exists(live->pid, live->drain_tid) &&
           tp_os_monotonic_ns() < deadline_ns)
        tp_os_wait(&never, 0, 100000);
}

bool tp_agent_leave_alone(void)
{
    struct tp_live *live = tp_agent.live;
    uint64_t signals;
    int kept = errno;

    if (!live || tp_tls.ours || !tp_agent_here() || atomic_load(&live->state) != TP_LIVE)
        return false;
    tp_os_block_signals(&signals);
    if (tp_drain_pause(live, EXIT_WAIT_NS))
        wait_until_gone(live, tp_os_monotonic_ns() + GONE_WAIT_NS);
    tp_os_restore_signals(&signals);
    errno = kept;
    return true;
}

void tp_agent_come_back(void)
{
    if (tp_agent_here() && tp_agent.live->has_threads)
        tp_agent_go_live();
}

void tp_agent_before_filter(void)
{
    struct tp_live *live = tp_agent.live;
    int kept = errno;

    if (!live || tp_tls.ours || !is_ours())
        return;
    if (!live->pid && !atomic_load(&tp_agent.filtered))
        tp_recording_tell_filtered();
    tp_agent_end("seccomp", EXIT_WAIT_NS);
    wait_until_gone(live, tp_os_monotonic_ns() + EXIT_WAIT_NS);
    atomic_store(&tp_agent.filtered, true);
    errno = kept;
}

static void before_fast_exit(void)
{
    int kept = errno;

    if (!tp_tls.ours)
        tp_agent_end("_exit", FAST_EXIT_WAIT_NS);
    errno = kept;
}

EXPORT void __attribute__((noreturn)) _exit(int status)
{
    before_fast_exit();
    if (tp_real._exit)
        tp_real._exit(status);
    for (;;)
        tp_os_exit_group(status);
}

EXPORT void __attribute__((noreturn)) _Exit(int status)
{
    before_fast_exit();
    if (tp_real._Exit)
        tp_real._Exit(status);
    for (;;)
        tp_os_exit_group(status);
}

/* --- start and end
 * -------------------------------------------------------------------------------------- */

/* The child of a fork by libc: the one thread that survived must not keep its parent's block. */
static void after_fork_in_child(void)
{
    tp_tls.thread = NULL;
    tp_agent.own_pid = tp_os_pid();
    tp_capture_fork_child();
    tp_sources_fork_child();
}

static void read_machine(void)
{
    struct utsname names;
    struct tp_text text;

    tp_text_init(&text, tp_agent.host, sizeof(tp_agent.host));
    tp_text_string(&text, !uname(&names) && names.nodename[0] ? names.nodename : "localhost");
    for (char *c = tp_agent.host; *c; c++)
        if (*c == '/')
            *c = '_';
    tp_os_readlink("/proc/self/exe", tp_agent.program, sizeof(tp_agent.program));
}

/* Whether one of the patterns "a:b:c" matches the program's path or the path's last part. */
static bool program_matches(const char *patterns)
{
    const char *base = strrchr(tp_agent.program, '/');
    char pattern[256];

    while (*patterns) {
        size_t n = strcspn(patterns, ":");
        struct tp_text text;
        tp_text_init(&text, pattern, sizeof(pattern));
        tp_text_bytes(&text, patterns, n);
        if (tp_glob_match(pattern, tp_agent.program) || (base && tp_glob_match(pattern, base + 1)))
            return true;
        patterns += n + (patterns[n] == ':');
    }
    return false;
}

static struct tp_live *make_live(void)
{
    struct tp_live *live = tp_os_map(sizeof(*live));

    if (live && tp_os_wipe_on_fork(live, sizeof(*live)) < 0) {
        tp_log_warn("off: this kernel cannot wipe memory on fork");
        tp_os_unmap(live, sizeof(*live));
        return NULL;
    }
    if (live) /* threads of other constructors' must not arm it before it is ready */
        atomic_store(&live->state, TP_ARMING);
    return live;
}

/* The process that the user started is the same one behind an exec: env, taskset and scripts that
 * end in one only make way for the program that is meant. */
static bool is_root_again(void)
{
    const char *slash = strrchr(tp_agent.run_dir, '/');
    char name[64];
    struct tp_text text;

    if (tp_agent.root || !slash)
        return false;
    tp_text_init(&text, name, sizeof(name));
    tp_text_format(&text, "tpagent-%u-", tp_agent.own_pid);
    return !strncmp(slash + 1, name, text.used);
}

/* From TP_ARMING on: what the first record would have to do is done now, or left to it. */
static void start_instance(struct tp_live *live, char **environment)
{
    uint32_t arming = TP_ARMING;
    bool is_wanted = tp_agent.root || is_root_again() || program_matches(tp_agent.config.programs);
    int error = is_wanted ? open_instance(live) : 0;

    if (error) {
        if (tp_recording_may_complain())
            tp_log_warn("not recording: %s: %s", tp_recording_failed_at(), tp_error_text(error));
        tp_recording_refuse_early(environment);
        atomic_store(&live->state, TP_FAILED);
    } else if (live->pid && tp_agent.config.alloc.choice >= TP_ALLOC_SAMPLE &&
               tp_source_wanted(TP_SOURCE_MALLOC)) {
        arm_here(live); /* not inside of the first allocation */
    } else {
        atomic_compare_exchange_strong(&live->state, &arming, TP_ASLEEP); /* it may have ended */
    }
}

static bool starts(const struct tp_config *config)
{
    return config->source_mask && (!config->inherited || config->follow) &&
           !tp_recording_is_none(config->run_dir);
}

/* Asked again when the process arms: the program may have set a limit meanwhile. */
static bool has_room(void)
{
    if (!tp_recording_has_room())
        return true;
    if (tp_agent.root)
        tp_log_warn("not recording: %s", tp_recording_failed_at());
    return false;
}

/*
 * The first program of a job below another user's recording says so, whether it would have recorded
 * anything or not, since it is the one that can tell all others: they find in their environment
 * that there is nothing to join.
 */
static bool is_for_us(void)
{
    int error = tp_agent.root ? 0 : tp_os_own_directory(tp_agent.run_dir);

    if (!error || error == -ENOENT)
        return true;
    tp_log_warn("not recording: %s: %s", tp_agent.run_dir, tp_error_text(error));
    return false;
}

static void start_window(void)
{
    struct tp_capture_by_what *by = &tp_agent.config.capture;
    char buffer[64];
    const char *why;
    struct tp_text text;

    if (by->by == TP_CAPTURE_SIGNAL && !tp_capture_signal_start(by->signal, &why)) {
        tp_text_init(&text, buffer, sizeof(buffer));
        tp_capture_by_text(by, &text);
        if (tp_agent.root)
            tp_log_warn("TPAGENT_CAPTURE=%s: %s; using always", buffer, why);
        by->by = TP_CAPTURE_ALWAYS;
    }
    tp_capture_start(&tp_agent.config);
}

/* Checkers of races know locks: they would report rings without any as races of the program. */
static bool is_checked_for_races(char *const *environment)
{
    for (; *environment; environment++)
        if (!strncmp(*environment, "LD_PRELOAD=", 11) &&
            (strstr(*environment, "vgpreload_helgrind") || strstr(*environment, "vgpreload_drd")))
            return true;
    return false;
}

/* The process stays as it is without us. */
static void stay_off(int kept_errno)
{
    tp_malloc_stop_counting();
    errno = kept_errno;
}

/* What glibc has and musl lacks: musl takes this library too, if all of its symbols resolve. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *)
    __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));
extern char **environ;

/* glibc's pthread_atfork is a static function that calls __register_atfork. */
static void call_after_fork(void (*in_child)(void))
{
    int (*musl_atfork)(void (*)(void), void (*)(void), void (*)(void));

    if (__register_atfork) {
        __register_atfork(NULL, NULL, in_child, &__dso_handle);
        return;
    }
    *(void **)&musl_atfork = dlsym(RTLD_DEFAULT, "pthread_atfork");
    if (musl_atfork)
        musl_atfork(NULL, NULL, in_child);
}

/* glibc passes main's arguments to constructors, musl passes nothing. */
static void __attribute__((constructor(101))) tp_agent_start(int argc, char **argv)
{
    char **environment = environ;
    int kept = errno;

    if (!gnu_get_libc_version) {
        argc = 0;
        argv = NULL;
    }

    tp_real_find();
    tp_config_read(&tp_agent.config, environment);
    if (tp_agent.config.help)
        tp_config_help(&tp_agent.config);
    if (!(tp_agent.config.source_mask >> TP_SOURCE_MALLOC & 1))
        tp_malloc_stop_counting();
    if (!starts(&tp_agent.config))
        return stay_off(kept);
    if (is_checked_for_races(environment)) {
        if (!tp_agent.config.inherited) {
            tp_log_warn("not recording: helgrind and DRD would report the agent's work as races");
            tp_recording_tell_children(false);
        }
        return stay_off(kept);
    }
    tp_agent.own_pid = tp_os_pid();
    read_machine();
    tp_recording_read_environment(environment, argc, argv);
    tp_agent.root = !tp_agent.config.inherited;
    if (!has_room() || tp_recording_begin_run() < 0 || !is_for_us() ||
        !(tp_agent.live = make_live())) {
        tp_recording_tell_children(false);
        tp_recording_refuse_early(environment);
        return stay_off(kept);
    }
    tp_clock_choose();
    tp_clock_read(&tp_agent.first_pair, 16);
    call_after_fork(after_fork_in_child);
    tp_recording_tell_children(true);
    start_window();
    tp_tls.attaching = 1;
    tp_sources_start(&tp_agent.config);
    start_instance(tp_agent.live, environment);
    tp_tls.attaching = 0;
    tp_agent.has_started = true;
    errno = kept;
}

static void __attribute__((destructor(101))) tp_agent_stop(void)
{
    struct tp_live *live = tp_agent.live;
    int kept = errno;

    tp_agent_end("exit", EXIT_WAIT_NS);
    if (live && !tp_agent.filtered && atomic_load(&live->drain_done) && tp_agent_here())
        wait_until_gone(live, tp_os_monotonic_ns() + GONE_WAIT_NS);
    errno = kept;
}
