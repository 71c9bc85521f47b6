# SPDX-License-Identifier: MIT
# package: gdb gcc libc6-dev
# needs: gdb gcc
# records: gdb
cat >a.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static void *run(void *p) { *(int *)p = fib(10); return p; }
int main(void) {
    pthread_t t; int v = 0;
    pthread_create(&t, 0, run, &v); pthread_join(t, 0);
    char *s = malloc(100); sprintf(s, "v=%d", v); puts(s); free(s);
    return 5;
}
END
gcc -g -O0 -pthread -o a a.c
gdb -q -nx -batch -iex 'set debuginfod enabled off' -ex 'break fib if n == 1' -ex run -ex 'bt 3' -ex 'print n' -ex delete \
    -ex 'break 11' -ex continue -ex next -ex 'print s[0]' -ex 'watch v' -ex continue ./a 2>&1 |
    grep -vE 'Thread|libthread|thread_db|LWP' | sed -E 's/0x[0-9a-f]+/ADDRESS/g; s/process [0-9]+/process PID/; /^.New process/d'
env -u LD_PRELOAD gdb -q -nx -batch -iex 'set debuginfod enabled off' -iex 'set startup-with-shell off' \
    -iex "set environment LD_PRELOAD $LD_PRELOAD" -ex 'catch signal' -ex run ./a 2>&1 |
    grep -E 'v=|Inferior|signal' | sed -E 's/process [0-9]+/process PID/; s/^.v=/v=/' # a line of gdb's may have begun
