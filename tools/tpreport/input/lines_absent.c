/* SPDX-License-Identifier: MIT
 * Built without libdw: functions have no lines. */
#include "input/lines.h"

bool tptrace_lines_are_read(void)
{
    return false;
}

int tptrace_lines_open(struct tptrace_lines **ret_lines, const struct tptrace_debug_file *file,
                       struct tp_diag *diag)
{
    (void)ret_lines;
    (void)file;
    return tp_diag_fail(diag, -TP_EUNSUPPORTED, TP_DIAG_NO_OFFSET,
                        "this tpreport was built without libdw, which reads debug information");
}

void tptrace_lines_close(struct tptrace_lines *lines)
{
    (void)lines;
}

size_t tptrace_lines_find(struct tptrace_lines *lines, uint64_t address,
                          struct tptrace_source_place *places)
{
    (void)lines;
    (void)address;
    (void)places;
    return 0;
}

const struct tp_diag *tptrace_lines_trouble(const struct tptrace_lines *lines)
{
    (void)lines;
    return NULL;
}
