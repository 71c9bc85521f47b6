# SPDX-License-Identifier: MIT
# package: musl-tools
# needs: musl-gcc
cat >a.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *run(void *p) { for (int i = 0; i < 10000; i++) free(malloc(i)); return p; }
int main(void) {
    pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0);
    void *p = aligned_alloc(64, 128), *q = 0; printf("%d %d\n", p != 0, posix_memalign(&q, 64, 64)); free(p); free(q);
    char *s = strdup("text"); s = realloc(s, 100000); puts(s); free(s);
    return 3;
}
END
musl-gcc -o a a.c && musl-gcc -static -o b a.c
./a; echo "$?"
./b; echo "$?"
