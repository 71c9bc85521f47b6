# SPDX-License-Identifier: MIT
# package: valgrind gcc libc6-dev
# needs: valgrind gcc
cat >a.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *run(void *p) { free(malloc(1000)); return p; }
int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    int *a = malloc(40), *leak = malloc(77);
    printf("%d %p\n", a[10] > 0, leak ? (void *)1 : 0);
    free(a);
    return 2;
}
END
gcc -g -O0 -pthread -o a a.c
valgrind -q --tool=memcheck --leak-check=full --error-exitcode=9 ./a 2>&1 | sed -E 's/==[0-9]+==/==/; s/0x[0-9A-Fa-f]+/ADDRESS/g' |
    grep -E 'Invalid|definitely|by ADDRESS: main|^[01] '
echo "${PIPESTATUS[0]}"
valgrind -q --tool=helgrind --error-exitcode=9 ./a >/dev/null 2>&1; echo "helgrind $?"
valgrind -q --tool=callgrind --callgrind-out-file=out ./a 2>&1; echo "callgrind $?"
