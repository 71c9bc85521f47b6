/* SPDX-License-Identifier: MIT */
#include "mapped.h"

#include <link.h>
#include <string.h>

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
