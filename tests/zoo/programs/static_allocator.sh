# SPDX-License-Identifier: MIT
# package: gcc g++ libjemalloc-dev
# needs: g++ /usr/lib/*/libjemalloc.a
# records: a
cat >a.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *run(void *p) {
    char *a[1000] = {0};
    for (int i = 0; i < 100000; i++) { a[i % 1000] = realloc(a[i % 1000], i % 977 + 1); memset(a[i % 1000], i, i % 977 + 1); }
    for (int i = 0; i < 1000; i++) free(a[i]);
    return p;
}
int main(void) {
    pthread_t t[4];
    for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    char *s = strdup("duplicated"); puts(s); free(s); char *q = reallocarray(0, 10, 10); free(q);
    return 6;
}
END
gcc -O1 -pthread -o a a.c -Wl,--whole-archive /usr/lib/*/libjemalloc.a -Wl,--no-whole-archive -lm -lstdc++ -pthread -rdynamic && ./a; echo "$?"
gcc -O1 -pthread -o b a.c -Wl,--whole-archive /usr/lib/*/libjemalloc.a -Wl,--no-whole-archive -lm -lstdc++ -pthread && ./b; echo "$?"
