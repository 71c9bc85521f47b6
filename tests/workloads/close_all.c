/* SPDX-License-Identifier: MIT */
/* What daemons do: close every descriptor, then use the numbers for files of their own; with a
 * thread around. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *nap(void *argument)
{
    usleep(300000);
    return argument;
}

int main(void)
{
    char path[] = "/tmp/tpagent-close-all-XXXXXX";
    pthread_t thread;
    int kept = dup(1);

    dup2(kept, 700);
    pthread_create(&thread, NULL, nap, NULL);
    usleep(100000);
    for (int fd = 0; fd < 1024; fd++)
        if (fd != 700)
            close(fd);
    int file = open("/tmp", O_RDWR | O_TMPFILE, 0600);
    for (int i = 0; i < 100; i++)
        if (write(file, "0123456789", 10) != 10)
            return 1;
    pthread_join(thread, NULL);
    char line[64];
    int n = snprintf(line, sizeof(line), "fd %d holds %ld bytes\n", file,
                     (long)lseek(file, 0, SEEK_END));
    (void)path;
    return write(700, line, (size_t)n) == n ? 0 : 2;
}
