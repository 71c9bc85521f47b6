/* SPDX-License-Identifier: MIT */
/*
 * Which libcupti: two copies in a process fight, so the one that is mapped is taken and no other.
 * Nothing that was opened is ever closed: some versions crash at unload.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "agent.h"
#include "base/text.h"
#include "mapped.h"
#include "source/cuda/cuda.h"

enum { STEP_FIRST, STEP_SIBLING, STEP_HOME = STEP_SIBLING + 4, STEP_SONAME = STEP_HOME + 12 };

static void *open_path(const char *path, int flags)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);
}

/* Beside the mapped libcudart: as pip's wheels and the toolkit lay them out, of the same major. */
static void *open_sibling(unsigned way, char *path, size_t size)
{
    static const char *const ways[] = {"", "../../cuda_cupti/lib/", "../extras/CUPTI/lib64/",
                                       "../../../extras/CUPTI/lib64/"};
    char runtime[TP_PATH_MAX];
    struct tp_text text;

    if (!tp_mapped_path("libcudart.so.", runtime, sizeof(runtime)))
        return NULL;
    char *slash = strrchr(runtime, '/');
    const char *major = strstr(slash ? slash : runtime, ".so.");
    if (!slash || !major)
        return NULL;
    tp_text_init(&text, path, size);
    tp_text_bytes(&text, runtime, (size_t)(slash + 1 - runtime));
    tp_text_format(&text, "%slibcupti.so.%.*s", ways[way], (int)strcspn(major + 4, "."), major + 4);
    return text.cut ? NULL : open_path(path, 0);
}

/* The first name is only there for developers. */
static void *open_home(unsigned way, char *path, size_t size)
{
    static const char *const names[] = {"libcupti.so", "libcupti.so.13", "libcupti.so.12"};
    const char *home = getenv(way < 6 ? "CUDA_HOME" : "CUDA_PATH");
    struct tp_text text;

    if (!home || !*home)
        return NULL;
    tp_text_init(&text, path, size);
    tp_text_format(&text, "%s/%s/%s", home, way % 2 ? "lib64" : "extras/CUPTI/lib64",
                   names[way / 2 % 3]);
    return text.cut ? NULL : open_path(path, 0);
}

static void *open_soname(unsigned way, char *path, size_t size)
{
    static const char *const tails[] = {".13",   ".12",   ".11.8", ".11.7", ".11.6", ".11.5",
                                        ".11.4", ".11.3", ".11.2", ".11.1", ".11.0", ""};
    struct tp_text text;

    tp_text_init(&text, path, size);
    tp_text_format(&text, "libcupti.so%s", tails[way]);
    return open_path(path, 0);
}

#define STEP_LAST (STEP_SONAME + 12)

void *tp_cupti_load(unsigned *state, char *ret_path, size_t size)
{
    struct tp_text text;

    if (*state == STEP_FIRST) {
        *state = STEP_SIBLING;
        if (tp_agent.config.cupti[0]) {
            *state = STEP_LAST;
            tp_text_init(&text, ret_path, size);
            tp_text_string(&text, tp_agent.config.cupti);
            return open_path(ret_path, 0);
        }
        if (tp_mapped_path("libcupti.so", ret_path, size)) {
            *state = STEP_LAST;
            return open_path(ret_path, RTLD_NOLOAD);
        }
    }
    while (*state < STEP_LAST) {
        unsigned step = (*state)++;
        void *handle = step < STEP_HOME     ? open_sibling(step - STEP_SIBLING, ret_path, size)
                       : step < STEP_SONAME ? open_home(step - STEP_HOME, ret_path, size)
                                            : open_soname(step - STEP_SONAME, ret_path, size);
        if (handle)
            return handle;
    }
    return NULL;
}

const char *tp_cupti_resolve(void *handle, struct tp_cupti *ret_cupti)
{
    const char *missing = NULL;

#define X(name, needed, parameters)                                                                \
    *(void **)&ret_cupti->name = dlsym(handle, "cupti" #name);                                     \
    if (needed && !ret_cupti->name && !missing)                                                    \
        missing = "cupti" #name;
    TP_CUPTI_FUNCTIONS(X)
#undef X
    return missing;
}
