/* SPDX-License-Identifier: MIT
 *
 * Runs a fuzz target on every file of some folders, whole and cut short at a few places: a corpus
 * as an ordinary test. Not crashing is the test.
 *
 *     fuzz_NAME_replay DIR...
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

#define PARTS 8u

/* In a block of its own size, so that a sanitizer sees the end. */
static void run_part(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);

    if (!copy)
        abort();
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static int run_file(const char *path)
{
    struct stat status;
    FILE *file = fopen(path, "rb");

    if (!file || fstat(fileno(file), &status) || !S_ISREG(status.st_mode)) {
        if (file)
            fclose(file);
        return 0;
    }
    uint8_t *bytes = malloc((size_t)status.st_size + 1);
    size_t size = bytes ? fread(bytes, 1, (size_t)status.st_size, file) : 0;
    fclose(file);
    fprintf(stderr, "%s\n", path); /* the last one printed is the one that failed */
    for (unsigned part = 0; part <= PARTS; part++)
        run_part(bytes, size * part / PARTS);
    free(bytes);
    return 1;
}

int main(int argc, char **argv)
{
    int files = 0;

    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        if (!dir) {
            perror(argv[i]);
            return 1;
        }
        for (struct dirent *entry; (entry = readdir(dir));) {
            char path[4096];
            snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
            files += run_file(path);
        }
        closedir(dir);
    }
    printf("%d files\n", files);
    return files ? 0 : 1;
}
