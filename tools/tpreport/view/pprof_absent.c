/* SPDX-License-Identifier: MIT
 * Built without protobuf-c. */
#include "view/view.h"

int tp_pprof_write(const struct tp_report *report, const struct tp_view_options *options,
                   struct tp_output *output, struct tp_diag *diag)
{
    (void)report;
    (void)options;
    (void)output;
    return tp_diag_fail(diag, -TP_EUNSUPPORTED, TP_DIAG_NO_OFFSET,
                        "this tpreport was built without protobuf-c, which writes pprof profiles");
}

int tp_memory_write_pprof(const struct tp_report *report, const struct tp_view_options *options,
                          struct tp_output *output, struct tp_diag *diag)
{
    return tp_pprof_write(report, options, output, diag);
}
