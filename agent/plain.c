/* SPDX-License-Identifier: MIT */
#include "plain.h"

#include <stdint.h>

#include "base/os.h"
#include "mapped.h"
#include "stack.h"
#include "unwind.h"

#define FRAMES_MAX 65536u

/* An address in the loader; 0 where it is not known. */
static uintptr_t loader;

/* Where the program's code begins; what is there is short. */
static uintptr_t entry;
#define START_BYTES 64u

void tp_plain_start(void)
{
    loader = tp_os_auxval_loader();
    entry = tp_os_auxval_entry();
    tp_unwind_start();
}

/* The program's own start calls libc's, and has no caller. Any other function without one that is
 * known ends the walk too, as code that says nothing of itself. */
static bool is_start(uintptr_t pc)
{
    return pc > entry && pc - entry <= START_BYTES;
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
        bool in_loader = at.pc >= (uintptr_t)object.start && at.pc < (uintptr_t)object.end;
        if (in_loader || tp_unwind_is_signal_return(at.pc))
            return false;
        if (!tp_unwind_step(&at, high))
            return is_start(at.pc);
    }
    return false;
}
