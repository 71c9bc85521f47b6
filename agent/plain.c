/* SPDX-License-Identifier: MIT */
#include "plain.h"

#include <link.h>
#include <stdint.h>

#include "base/os.h"
#include "mapped.h"
#include "stack.h"
#include "unwind.h"

#define FRAMES_MAX 65536u

/* An address in the loader; 0 where it is not known. */
static uintptr_t loader;

void tp_plain_start(void)
{
    loader = tp_os_auxval_loader();
    tp_unwind_start();
}

/* The program's own start has no caller, and is in the program. Behind a signal handler nothing is
 * known either, but that is in libc. */
static bool is_start(uintptr_t pc)
{
    struct tp_mapped_object object;

    return tp_unwind_find(pc - 1).base == TP_UNWIND_END && tp_mapped_object(pc - 1, &object) &&
           object.map && !object.map->l_name[0];
}

bool tp_plain_is_here(void)
{
    const uintptr_t *frame = __builtin_frame_address(0);
    struct tp_unwind at = {.pc = frame[1], .sp = (uintptr_t)(frame + 2), .bp = frame[0]};
    uintptr_t high = tp_stack_first_end();
    struct tp_mapped_object object;

    if (!loader || !tp_mapped_object(loader, &object) || !tp_stack_is_roomy())
        return false;
    for (unsigned i = 0; i < FRAMES_MAX; i++) {
        if (at.pc >= (uintptr_t)object.start && at.pc < (uintptr_t)object.end)
            return false;
        if (!tp_unwind_step(&at, high))
            return is_start(at.pc);
    }
    return false;
}
