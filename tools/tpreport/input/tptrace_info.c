/* SPDX-License-Identifier: MIT */
#include "command.h"

int tp_command_info(struct tp_run *run, struct tp_diag *diag)
{
    (void)run;
    (void)diag;
    return 0;
}

int tp_command_check(struct tp_run *run, struct tp_diag *diag)
{
    (void)run;
    (void)diag;
    return 0;
}
