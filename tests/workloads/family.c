/* SPDX-License-Identifier: MIT */
/* What the malloc family promises, seen from a program. */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int aligned(const void *pointer, size_t alignment)
{
    return ((uintptr_t)pointer & (alignment - 1)) == 0;
}

int main(void)
{
    unsigned char *zeros = calloc(1000, 3);
    int sum = 0;
    void *p = NULL;

    for (int i = 0; i < 3000; i++)
        sum += zeros[i];
    printf("calloc %d\n", sum);
    memset(zeros, 5, 3000);
    zeros = realloc(zeros, 100000);
    printf("realloc keeps %d\n", zeros[2999]);
    zeros = reallocarray(zeros, 50, 40);
    printf("reallocarray keeps %d\n", zeros[1999]);
    free(zeros);
    printf("realloc(NULL) %d\n", (p = realloc(NULL, 10)) != NULL);
    printf("realloc(p, 0) %d\n", realloc(p, 0) == NULL);
    for (size_t a = 16; a <= 65536; a *= 4) {
        p = memalign(a, 100);
        printf("memalign %d ", aligned(p, a));
        free(p);
        p = aligned_alloc(a, a * 2);
        printf("aligned_alloc %d ", aligned(p, a));
        free(p);
        printf("posix_memalign %d %d\n", posix_memalign(&p, a, 1000), aligned(p, a));
        free(p);
    }
    p = valloc(10);
    printf("valloc %d\n", aligned(p, 4096));
    free(p);
    p = pvalloc(10);
    printf("pvalloc %d\n", aligned(p, 4096));
    free(p);
    char *copy = strdup("copied"), *text;
    printf("%s %d\n", copy, asprintf(&text, "%d", 12345));
    free(copy);
    free(text);
    return 0;
}
