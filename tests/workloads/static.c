/* SPDX-License-Identifier: MIT */
#include <stdio.h>

int main(void)
{
    puts("static");
    return 4;
}
