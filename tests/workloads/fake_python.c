/* SPDX-License-Identifier: MIT */
/*
 * What the agent looks for in CPython, without one behind it: FAKE_PYTHON is its version. A thread
 * is in one frame, whose code is no code.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

uint64_t PyCode_Type, PyUnicode_Type;
static uint64_t frame[64], thread[64];

const char *Py_GetVersion(void);
void *PyGILState_GetThisThreadState(void);
int _Py_IsFinalizing(void);
int PyCode_Addr2Line(void *code, int at);
long PyUnicode_GetLength(void *string);
uint32_t PyUnicode_ReadChar(void *string, long at);

const char *Py_GetVersion(void)
{
    const char *version = getenv("FAKE_PYTHON");

    return version ? version : "2.7";
}

void *PyGILState_GetThisThreadState(void)
{
    uintptr_t at = (uintptr_t)frame;

    frame[32 / 8] = at; /* its code, of 3.8 */
    memcpy((char *)thread + 24, &at, sizeof(at));
    return thread;
}

int _Py_IsFinalizing(void)
{
    return 0;
}

int PyCode_Addr2Line(void *code, int at)
{
    (void)code;
    return at;
}

long PyUnicode_GetLength(void *string)
{
    (void)string;
    abort();
}

uint32_t PyUnicode_ReadChar(void *string, long at)
{
    (void)string;
    (void)at;
    abort();
}
