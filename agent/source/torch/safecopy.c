/* SPDX-License-Identifier: MIT */
#include "source/torch/safecopy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

static size_t read_by_kernel(void *to, const void *from, size_t size)
{
    struct iovec local = {to, size};
    struct iovec remote = {(void *)(uintptr_t)from, size};
    ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

    return got > 0 ? (size_t)got : 0;
}

/* The pipe takes what is readable and stops at the first page that is not. */
static size_t read_by_pipe(struct tp_safecopy *copy, void *to, const void *from, size_t size)
{
    size_t done = 0;

    if (copy->pipe[0] < 0 && pipe2(copy->pipe, O_CLOEXEC | O_NONBLOCK) != 0)
        return 0;
    while (done < size) {
        size_t part = size - done < 2048 ? size - done : 2048;
        ssize_t put = write(copy->pipe[1], (const char *)from + done, part);
        if (put <= 0 || read(copy->pipe[0], (char *)to + done, (size_t)put) != put)
            break;
        done += (size_t)put;
        if ((size_t)put < part)
            break;
    }
    return done;
}

void tp_safecopy_init(struct tp_safecopy *copy)
{
    int kept = errno;
    int probe = 4711;
    int seen = 0;

    copy->pipe[0] = copy->pipe[1] = -1;
    copy->by_kernel = read_by_kernel(&seen, &probe, sizeof probe) == sizeof probe && seen == probe;
    errno = kept;
}

void tp_safecopy_fini(struct tp_safecopy *copy)
{
    int kept = errno;

    if (copy->pipe[0] >= 0) {
        close(copy->pipe[0]);
        close(copy->pipe[1]);
    }
    copy->pipe[0] = copy->pipe[1] = -1;
    errno = kept;
}

/* process_vm_readv copies whole parts only: a range cut by a bad page is read again page by page.
 */
size_t tp_safecopy_read(struct tp_safecopy *copy, void *to, const void *from, size_t size)
{
    int kept = errno;
    size_t done = 0;

    if ((uintptr_t)from < 4096 || (uintptr_t)from > UINTPTR_MAX - size)
        return 0;
    if (!copy->by_kernel) {
        done = read_by_pipe(copy, to, from, size);
    } else {
        while (done < size) {
            size_t part = 4096 - ((uintptr_t)from + done) % 4096;
            if (part > size - done)
                part = size - done;
            size_t got = read_by_kernel((char *)to + done, (const char *)from + done, part);
            done += got;
            if (got < part)
                break;
        }
    }
    errno = kept;
    return done;
}
