/* SPDX-License-Identifier: MIT */
/*
 * Modules of the process: /proc/self/maps, read by the drain when a look at the loader's state says that something
 * may have changed. Threads and their names are the drain's own business; rank variables the recording's.
 */
#include "sources.h"

const struct tp_source tp_source_process = {0};
