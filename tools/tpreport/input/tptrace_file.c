/* SPDX-License-Identifier: MIT */
#include "input/tptrace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(struct tp_diag *diag, int code, const char *path)
{
    tp_diag_fail(diag, code, TP_DIAG_NO_OFFSET, "%s", tp_error_text(code));
    return tp_diag_at(diag, path), code;
}

int tptrace_open(const char *path, uint64_t *ret_size, struct tp_diag *diag)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return fail(diag, -errno, path);
    int error = fstat(fd, &info) ? -errno : S_ISREG(info.st_mode) ? 0 : -TP_EFOREIGN;
    if (error) {
        close(fd);
        return fail(diag, error, path);
    }
    *ret_size = (uint64_t)info.st_size;
    return fd;
}

int64_t tptrace_read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = pread(fd, (char *)bytes + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (!n)
            break;
        done += (size_t)n;
    }
    return (int64_t)done;
}

int tptrace_read_file(const char *path, uint64_t limit, void **ret_bytes, uint64_t *ret_size,
                      struct tp_diag *diag)
{
    uint64_t size;
    int fd = tptrace_open(path, &size, diag);

    if (fd < 0)
        return fd;
    if (size > limit)
        size = limit;
    void *bytes = malloc(size + 1);
    int64_t n = bytes ? tptrace_read_at(fd, bytes, size, 0) : -ENOMEM;
    close(fd);
    if (n < 0) {
        free(bytes);
        return fail(diag, (int)n, path);
    }
    *ret_bytes = bytes;
    *ret_size = (uint64_t)n;
    return 0;
}

int tptrace_write(int fd, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, (const char *)bytes + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n ? -errno : -ENOSPC;
        done += (size_t)n;
    }
    return 0;
}

int tptrace_path(char *buffer, const char *directory, const char *name)
{
    int n = snprintf(buffer, TPTRACE_PATH_MAX, "%s/%s", directory, name);

    return n < 0 || n >= TPTRACE_PATH_MAX ? -ENAMETOOLONG : 0;
}
