/* SPDX-License-Identifier: MIT */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <sched.h>

#include "base/error.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define TP_CLOSE_RANGE_UNSHARE 2u

/*
 * libc's wrappers are cancellation points; syscall(2) is none. It sets errno, which is put back. It
 * takes words: of an int that is passed in memory, half of the word is anything.
 */
#define CALL(...) CALL_WORDS(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define CALL_WORDS(number, a, b, c, d, e, f, ...)                                                  \
    ({                                                                                             \
        int kept_ = errno;                                                                         \
        long result_ = syscall((long)(number), (long)(a), (long)(b), (long)(c), (long)(d),         \
                               (long)(e), (long)(f));                                              \
        if (result_ < 0)                                                                           \
            result_ = -errno;                                                                      \
        errno = kept_;                                                                             \
        result_;                                                                                   \
    })

int tp_os_open(int dir, const char *path, int flags, unsigned mode)
{
    long fd;

    do
        fd = CALL(SYS_openat, dir, path, flags | O_CLOEXEC | O_NOCTTY, mode);
    while (fd == -EINTR);
    if (fd >= 0 && (flags & O_EXCL)) /* whatever the umask */
        tp_os_chmod((int)fd, mode);
    return (int)fd;
}

int tp_os_close(int fd)
{
    return (int)CALL(SYS_close, fd);
}

int tp_os_mkdir(int dir, const char *path, unsigned mode)
{
    int error = (int)CALL(SYS_mkdirat, dir, path, mode);

    if (!error)
        CALL(SYS_fchmodat, dir, path, mode);
    return error;
}

int tp_os_own_directory(const char *path)
{
    struct stat info;
    int error = (int)CALL(SYS_newfstatat, TP_OS_NO_DIR, path, &info, AT_SYMLINK_NOFOLLOW);

    if (error)
        return error;
    if (!S_ISDIR(info.st_mode))
        return -ENOTDIR;
    return info.st_uid == (uint32_t)CALL(SYS_geteuid) ? 0 : -TP_EOWNER;
}

int tp_os_rename(int dir, const char *from, const char *to)
{
    return (int)CALL(SYS_renameat2, dir, from, dir, to, 0);
}

int tp_os_unlink(int dir, const char *path, bool directory)
{
    return (int)CALL(SYS_unlinkat, dir, path, directory ? AT_REMOVEDIR : 0);
}

int tp_os_truncate(int fd, uint64_t size)
{
    return (int)CALL(SYS_ftruncate, fd, size);
}

int tp_os_chmod(int fd, unsigned mode)
{
    return (int)CALL(SYS_fchmod, fd, mode);
}

int tp_os_readlink(const char *path, char *buffer, size_t size)
{
    long length = CALL(SYS_readlinkat, AT_FDCWD, path, buffer, size - 1);

    buffer[length < 0 ? 0 : length] = '\0';
    return (int)length;
}

int tp_os_getcwd(char *buffer, size_t size)
{
    long length = CALL(SYS_getcwd, buffer, size);

    if (length < 0)
        buffer[0] = '\0';
    return (int)length;
}

static int write_zeros(int fd, uint64_t offset, uint64_t size)
{
    static const char zeros[4096];

    for (uint64_t done = 0; done < size;) {
        size_t part = size - done < sizeof(zeros) ? (size_t)(size - done) : sizeof(zeros);
        long n = CALL(SYS_pwrite64, fd, zeros, part, offset + done);
        if (n < 0 && n != -EINTR)
            return (int)n;
        done += n > 0 ? (uint64_t)n : 0;
    }
    return 0;
}

static uint64_t soft_limit(int resource)
{
    struct rlimit limit;

    return CALL(SYS_prlimit64, 0, resource, NULL, &limit) ? RLIM_INFINITY : limit.rlim_cur;
}

_Static_assert(RLIM_INFINITY == UINT64_MAX, "no limit is above all others");

int tp_os_allocate(int fd, uint64_t offset, uint64_t size)
{
    long error;

    if (offset + size > soft_limit(RLIMIT_FSIZE)) /* a deadly signal to the thread that writes */
        return -EFBIG;
    do
        error = CALL(SYS_fallocate, fd, 0, offset, size);
    while (error == -EINTR);
    if (error == -EOPNOTSUPP || error == -ENOSYS)
        error = write_zeros(fd, offset, size);
    return (int)error;
}

int64_t tp_os_write(int fd, const void *bytes, size_t size)
{
    uint64_t limit = soft_limit(RLIMIT_FSIZE);
    struct tp_os_stat info = {0};
    size_t done = 0;

    if (limit != RLIM_INFINITY && !tp_os_stat(fd, &info) && S_ISREG(info.mode) &&
        info.size + size > limit)
        return -EFBIG;
    while (done < size) {
        long n = CALL(SYS_write, fd, (const char *)bytes + done, size - done);
        if (n == -EINTR)
            continue;
        if (n <= 0)
            return done ? (int64_t)done : n ? n : -EIO;
        done += (size_t)n;
    }
    return (int64_t)done;
}

/* @offset: below 0 where the file stands. */
static int64_t read_all(int fd, void *bytes, size_t size, int64_t offset)
{
    size_t done = 0;

    while (done < size) {
        char *to = (char *)bytes + done;
        long n = offset < 0 ? CALL(SYS_read, fd, to, size - done)
                            : CALL(SYS_pread64, fd, to, size - done, offset + (int64_t)done);
        if (n == -EINTR)
            continue;
        if (n < 0)
            return n;
        if (!n)
            break;
        done += (size_t)n;
    }
    return (int64_t)done;
}

int64_t tp_os_read(int fd, void *bytes, size_t size)
{
    return read_all(fd, bytes, size, -1);
}

int64_t tp_os_read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
    return read_all(fd, bytes, size, (int64_t)offset);
}

int64_t tp_os_seek_end(int fd)
{
    return CALL(SYS_lseek, fd, 0, SEEK_END);
}

int64_t tp_os_read_file(const char *path, char *buffer, size_t size)
{
    int fd = tp_os_open(TP_OS_NO_DIR, path, O_RDONLY, 0);

    buffer[0] = '\0';
    if (fd < 0)
        return fd;
    int64_t n = tp_os_read(fd, buffer, size - 1);
    tp_os_close(fd);
    if (n >= 0)
        buffer[n] = '\0';
    return n;
}

int tp_os_stat(int fd, struct tp_os_stat *ret_stat)
{
    struct stat st;
    long error = CALL(SYS_fstat, fd, &st);

    if (!error)
        *ret_stat = (struct tp_os_stat){st.st_dev, st.st_ino, (uint64_t)st.st_size, st.st_mode};
    return (int)error;
}

int tp_os_free_space(int fd, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes)
{
    struct statfs st;
    long error = CALL(SYS_fstatfs, fd, &st);

    if (!error) {
        *ret_free_bytes = (uint64_t)st.f_bavail * (uint64_t)st.f_bsize;
        *ret_total_bytes = (uint64_t)st.f_blocks * (uint64_t)st.f_bsize;
    }
    return (int)error;
}

static void *mapped(long result)
{
    return result < 0 && result > -4096 ? NULL : (void *)result;
}

void *tp_os_map(size_t size)
{
    return mapped(CALL(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

void *tp_os_map_shared(size_t size)
{
    return mapped(
        CALL(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

void *tp_os_map_file(int fd, size_t size, bool populate)
{
    void *memory = mapped(CALL(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));

    if (memory && populate && CALL(SYS_madvise, memory, size, MADV_POPULATE_WRITE) == -EFAULT) {
        tp_os_unmap(memory, size);
        return NULL;
    }
    return memory;
}

void *tp_os_remap(void *memory, size_t old_size, size_t new_size)
{
    return mapped(CALL(SYS_mremap, memory, old_size, new_size, MREMAP_MAYMOVE));
}

void tp_os_unmap(void *memory, size_t size)
{
    if (memory) /* at 0 a program may begin */
        CALL(SYS_munmap, memory, size);
}

uint64_t tp_os_address_limit(void)
{
    return soft_limit(RLIMIT_AS);
}

int tp_os_wipe_on_fork(void *memory, size_t size)
{
    return (int)CALL(SYS_madvise, memory, size, MADV_WIPEONFORK);
}

int tp_os_forget(void *memory, size_t size)
{
    return (int)CALL(SYS_madvise, memory, size, MADV_DONTNEED);
}

int tp_os_dont_fork(void *memory, size_t size)
{
    return (int)CALL(SYS_madvise, memory, size, MADV_DONTFORK);
}

#define READ_MAX 64u
#define PAGE_SIZE_LEAST 4096u

unsigned tp_os_read_memory(uint64_t *to, const uintptr_t *from, unsigned count)
{
    struct iovec remote[READ_MAX], local = {to, count * sizeof(*to)};

    if (count > READ_MAX)
        count = READ_MAX;
    for (unsigned i = 0; i < count; i++)
        remote[i] = (struct iovec){(void *)from[i], sizeof(*to)};
    long copied = CALL(SYS_process_vm_readv, tp_os_pid(), &local, 1, remote, count, 0);
    return copied > 0 ? (unsigned)copied / sizeof(*to) : 0;
}

/* One word of each page. */
bool tp_os_readable(uintptr_t at, size_t size)
{
    uintptr_t page = at & ~(uintptr_t)(PAGE_SIZE_LEAST - 1), end = at + size;
    uintptr_t pages[READ_MAX];
    uint64_t words[READ_MAX];

    while (page < end) {
        unsigned n = 0;
        for (; n < READ_MAX && page < end; page += PAGE_SIZE_LEAST)
            pages[n++] = page;
        if (tp_os_read_memory(words, pages, n) != n)
            return false;
    }
    return true;
}

uint64_t tp_os_stack_limit(void)
{
    return soft_limit(RLIMIT_STACK);
}

void tp_os_exit_group(int status)
{
    CALL(SYS_exit_group, status);
}

uint32_t tp_os_pid(void)
{
    return (uint32_t)CALL(SYS_getpid);
}

uint32_t tp_os_tid(void)
{
    return (uint32_t)CALL(SYS_gettid);
}

uint32_t tp_os_parent_pid(void)
{
    return (uint32_t)CALL(SYS_getppid);
}

uint32_t tp_os_user(void)
{
    return (uint32_t)CALL(SYS_getuid);
}

void tp_os_own_name(char name[16])
{
    if (CALL(SYS_prctl, PR_GET_NAME, name, 0, 0, 0))
        name[0] = '\0';
}

bool tp_os_thread_exists(uint32_t pid, uint32_t tid)
{
    return CALL(SYS_tgkill, pid, tid, 0) != -ESRCH;
}

int tp_os_random(void *bytes, size_t size)
{
    long n = CALL(SYS_getrandom, bytes, size, 1 /* GRND_NONBLOCK */);

    return n == (long)size ? 0 : n < 0 ? (int)n : -EAGAIN;
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t = {0, 0};

    clock_gettime(clock, &t); /* vDSO: no system call, no lock */
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t tp_os_realtime_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}

uint64_t tp_os_monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t tp_os_raw_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC_RAW);
}

void tp_os_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    struct timespec timeout = {(time_t)(timeout_ns / 1000000000u),
                               (long)(timeout_ns % 1000000000u)};

    CALL(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &timeout, NULL, 0);
}

void tp_os_wake(_Atomic uint32_t *word)
{
    CALL(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
}

int tp_os_own_descriptors(void)
{
    long error = CALL(SYS_close_range, 0u, ~0u, TP_CLOSE_RANGE_UNSHARE);

    if (error == -ENOSYS || error == -EINVAL) {
        error = CALL(SYS_unshare, CLONE_FILES);
        struct rlimit limit = {1024, 1024};
        CALL(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
        for (unsigned fd = 0; !error && fd < limit.rlim_cur && fd < 65536; fd++)
            tp_os_close((int)fd);
    }
    if (error)
        return (int)error;
    for (int fd = 0; fd < 3; fd++)
        tp_os_open(TP_OS_NO_DIR, "/dev/null", O_RDWR, 0);
    return 0;
}

#define SIGCANCEL 32
#define SIGSETXID 33

void tp_os_block_signals(uint64_t *ret_old)
{
    /* Not glibc's own two: setuid and its kin wait until every thread has taken SIGSETXID. */
    uint64_t all = ~(UINT64_C(1) << (SIGCANCEL - 1) | UINT64_C(1) << (SIGSETXID - 1));

    *ret_old = 0;
    CALL(SYS_rt_sigprocmask, SIG_SETMASK, &all, ret_old, sizeof(all));
}

void tp_os_restore_signals(const uint64_t *old)
{
    CALL(SYS_rt_sigprocmask, SIG_SETMASK, old, NULL, sizeof(*old));
}

uintptr_t tp_os_auxval_loader(void)
{
    return getauxval(AT_BASE);
}

uintptr_t tp_os_auxval_entry(void)
{
    return getauxval(AT_ENTRY);
}

const void *tp_os_auxval_random(void)
{
    return (const void *)getauxval(AT_RANDOM); /* glibc keeps errno for a key that exists */
}
