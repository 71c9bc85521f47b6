/* SPDX-License-Identifier: MIT */
#include "mapped.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "base/os.h"
#include "guard.h"

#define WINDOW 4096
#define PART_MAX 64 /* bytes of a part of a path */

static int (*find_object)(void *address, struct tp_mapped_object *ret_object);
static _Atomic bool find_object_known;

bool tp_mapped_has_index(void)
{
    if (tp_unlikely(!atomic_load_explicit(&find_object_known, memory_order_acquire))) {
        *(void **)&find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
        atomic_store_explicit(&find_object_known, true, memory_order_release);
    }
    return find_object != NULL;
}

bool tp_mapped_object(uintptr_t address, struct tp_mapped_object *ret_object)
{
    return tp_mapped_has_index() && !find_object((void *)address, ret_object);
}

struct wanted {
    const char *begins;
    char *path;
    size_t size;
};

static int take(struct dl_phdr_info *info, size_t size, void *argument)
{
    const struct wanted *wanted = argument;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *base = slash ? slash + 1 : info->dlpi_name;
    size_t length = strlen(info->dlpi_name);

    (void)size;
    if (strncmp(base, wanted->begins, strlen(wanted->begins)) || length >= wanted->size)
        return 0;
    memcpy(wanted->path, info->dlpi_name, length + 1);
    return 1;
}

bool tp_mapped_path(const char *begins, char *ret_path, size_t size)
{
    struct wanted wanted = {begins, ret_path, size};

    return dl_iterate_phdr(take, &wanted) == 1;
}

/* Reads the table of mappings in pieces, with a seam as long as the part between them. */
bool tp_mapped_listed(const char *part)
{
    char window[WINDOW + PART_MAX];
    size_t length = strlen(part), kept = 0;
    int fd = tp_os_open(TP_OS_NO_DIR, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    bool found = false;
    int64_t got;

    if (fd < 0)
        return false;
    while (!found && (got = tp_os_read(fd, window + kept, WINDOW)) > 0) {
        size_t size = kept + (size_t)got;
        found = memmem(window, size, part, length) != NULL;
        kept = size < length ? size : length;
        memmove(window, window + size - kept, kept);
    }
    tp_os_close(fd);
    return found;
}
