# SPDX-License-Identifier: MIT
# package: gcc libseccomp-dev file
# needs: gcc file /usr/include/seccomp.h
# records: file
cat >a.c <<'END'
#include <errno.h>
#include <pthread.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* a DENY|KILL [threads]: only what the program itself needs from here on. */
static void *run(void *p) { for (int i = 0; i < 1000; i++) free(malloc(i)); return p; }
int main(int argc, char **argv) {
    int threads = argc > 2;
    pthread_t t;
    if (threads) { pthread_create(&t, 0, run, 0); pthread_join(t, 0); }
    scmp_filter_ctx f = seccomp_init(!strcmp(argv[1], "KILL") ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_ERRNO(EPERM));
    int allowed[] = {SCMP_SYS(write), SCMP_SYS(exit_group), SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(newfstatat), SCMP_SYS(fstat)};
    seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, threads);
    for (unsigned i = 0; i < sizeof allowed / sizeof *allowed; i++) seccomp_rule_add(f, SCMP_ACT_ALLOW, allowed[i], 0);
    if (seccomp_load(f)) return 9;
    for (int i = 0; i < 20000; i++) free(malloc(i));
    puts("still here");
    return 3;
}
END
gcc -pthread -o a a.c -lseccomp
for way in DENY KILL; do
    ./a $way; echo "$?"
    ./a $way threads; echo "$?"
done
file -b /bin/sh a.c; echo "$?"
