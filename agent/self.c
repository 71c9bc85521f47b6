/* SPDX-License-Identifier: MIT */
#include "self.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static char self_path[PATH_MAX];

const char *tp_self_path(void)
{
    Dl_info info;

    /* the loader keeps the name as it was given: a relative one would be wrong after the first
     * chdir */
    if (!self_path[0] && (!dladdr(self_path, &info) || !realpath(info.dli_fname, self_path)))
        self_path[0] = '\0';
    return self_path;
}

int tp_self_offer(const char *variable, char *why, size_t size)
{
    const char *value = getenv(variable), *path = tp_self_path();
    struct tp_text text;

    tp_text_init(&text, why, size);
    if (!path[0]) {
        tp_text_string(&text, "the agent does not know its own path");
        return -ENOENT;
    }
    if (value && *value && strcmp(value, path)) {
        tp_text_format(&text, "%s belongs to %s", variable, value);
        return -EEXIST;
    }
    return setenv(variable, path, 1) ? -ENOMEM : 0;
}
