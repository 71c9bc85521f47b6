/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_OS_H
#define TP_BASE_OS_H

/*
 * Every system call that we make inside a host. All of them: any thread, signal-safe, no
 * cancellation point, errno is kept. Results: 0 or a value, or -errno. EINTR is retried where that
 * is right.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TP_OS_NO_DIR (-100) /* AT_FDCWD */

int tp_os_open(int dir, const char *path, int flags, unsigned mode);
int tp_os_close(int fd);

/** tp_os_mkdir - with exactly this mode, as files made with O_EXCL by tp_os_open are */
int tp_os_mkdir(int dir, const char *path, unsigned mode);

/** tp_os_own_directory - Return: 0; -ENOTDIR for what is none (a link is none), -TP_EOWNER for
 * another user's. */
int tp_os_own_directory(const char *path);
int tp_os_rename(int dir, const char *from, const char *to);
int tp_os_unlink(int dir, const char *path, bool directory);
int tp_os_truncate(int fd, uint64_t size);
int tp_os_chmod(int fd, unsigned mode);
int tp_os_readlink(const char *path, char *buffer,
                   size_t size); /* terminated; returns length, cut silently */
int tp_os_getcwd(char *buffer, size_t size);

/**
 * tp_os_allocate - make [offset, offset + size) of a file real, so that a store into its mapping
 * cannot fail fallocate(2); where the file system has none, zeros are written. Refuses (-EFBIG)
 * what RLIMIT_FSIZE forbids, before the kernel would send SIGXFSZ.
 */
int tp_os_allocate(int fd, uint64_t offset, uint64_t size);

/** tp_os_write - all of it. Refuses (-EFBIG) what RLIMIT_FSIZE forbids at a file's end. Return:
 * @size, or what was written before an error when > 0, else -errno. */
int64_t tp_os_write(int fd, const void *bytes, size_t size);
int64_t tp_os_read(int fd, void *bytes, size_t size);
/** tp_os_read_at - from @offset. Return: as tp_os_read. */
int64_t tp_os_read_at(int fd, void *bytes, size_t size, uint64_t offset);
int64_t tp_os_seek_end(int fd);

/** tp_os_read_file - up to @size - 1 bytes of a small file, terminated. Return: bytes, or -errno.
 */
int64_t tp_os_read_file(const char *path, char *buffer, size_t size);

struct tp_os_stat {
    uint64_t device, inode, size;
    uint32_t mode;
};
int tp_os_stat(int fd, struct tp_os_stat *ret_stat);
int tp_os_free_space(int fd, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes);

/** tp_os_map - anonymous private memory, zeroed. Return: NULL on failure. */
void *tp_os_map(size_t size);
/** tp_os_map_shared - the same, but shared with children that are forked. Return: NULL on failure.
 */
void *tp_os_map_shared(size_t size);
/** tp_os_map_file - shared mapping of a file; populated when asked. Return: NULL on failure. */
void *tp_os_map_file(int fd, size_t size, bool populate);
void *tp_os_remap(void *memory, size_t old_size,
                  size_t new_size); /* NULL on failure, the old one stands */
void tp_os_unmap(void *memory, size_t size);
uint64_t tp_os_address_limit(void); /* RLIMIT_AS in bytes; all ones: none */
int tp_os_wipe_on_fork(void *memory, size_t size);
int tp_os_dont_fork(void *memory, size_t size);
int tp_os_forget(void *memory, size_t size); /* private pages read 0 again and take no room */

/**
 * tp_os_read_memory - copy from addresses of this process that may be wrong
 * @to:   room for @count words
 * @from: @count addresses, each of 8 bytes; at most 64
 * Return: how many of the first ones were copied; 0 also where the kernel does not let us.
 */
unsigned tp_os_read_memory(uint64_t *to, const uintptr_t *from, unsigned count);
/** tp_os_readable - whether every page of [at, at + size) can be read */
bool tp_os_readable(uintptr_t at, size_t size);
/** tp_os_stack_limit - of the first thread, in bytes; UINT64_MAX none */
uint64_t tp_os_stack_limit(void);

void tp_os_exit_group(int status);
uint32_t tp_os_pid(void);
uint32_t tp_os_tid(void);

/** tp_os_own_name - the calling thread's name, terminated */
void tp_os_own_name(char name[16]);
uint32_t tp_os_parent_pid(void);
uint32_t tp_os_user(void);
bool tp_os_thread_exists(uint32_t pid, uint32_t tid);
int tp_os_random(void *bytes, size_t size);

uint64_t tp_os_realtime_ns(void);
uint64_t tp_os_monotonic_ns(void);
uint64_t tp_os_raw_ns(void);

/** tp_os_wait - sleep while *word == expected, at most @timeout_ns. Spurious returns happen. */
void tp_os_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns);
void tp_os_wake(_Atomic uint32_t *word);

/**
 * tp_os_own_descriptors - give the calling thread a descriptor table of its own, empty but for
 * /dev/null on 0..2 Return: 0, or -errno when the kernel refuses (then nothing has changed).
 */
int tp_os_own_descriptors(void);

void tp_os_block_signals(uint64_t *ret_old); /* all but those that libc keeps for itself */
void tp_os_restore_signals(const uint64_t *old);

/** tp_os_auxval_random - 16 bytes that the kernel made for this image, or NULL */
const void *tp_os_auxval_random(void);

/** tp_os_auxval_loader - where the kernel mapped the program's loader; 0 where it did not */
uintptr_t tp_os_auxval_loader(void);

/** tp_os_auxval_entry - where the program's own code begins */
uintptr_t tp_os_auxval_entry(void);

#endif
