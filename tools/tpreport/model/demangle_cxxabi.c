/* SPDX-License-Identifier: MIT
 * The C++ runtime's own demangler, from the shared libstdc++. */
#include "model/demangle.h"

#include <stddef.h>

/* <cxxabi.h> is C++; this is its C interface. */
extern char *__cxa_demangle(const char *symbol, char *buffer, size_t *size, int *status);

char *tp_demangle(const char *symbol)
{
    int status;

    return __cxa_demangle(symbol, NULL, NULL, &status);
}
