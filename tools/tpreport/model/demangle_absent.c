/* SPDX-License-Identifier: MIT
 * Built where there is no libstdc++: names stay as they are. */
#include "model/demangle.h"

#include <stddef.h>

char *tp_demangle(const char *symbol)
{
    (void)symbol;
    return NULL;
}
