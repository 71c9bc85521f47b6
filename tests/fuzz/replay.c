/* SPDX-License-Identifier: MIT
 * Runs a fuzz target over a corpus as an ordinary test: each file, and each file cut short at a few
 * places. Not crashing is the test. usage: replay FOLDER */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");

    if (!file)
        return -1;
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(size + 1);
    if (!data || fread(data, 1, size, file) != size)
        abort();
    fclose(file);
    for (size_t part = 0; part <= 8; part++) {
        uint8_t *copy =
            malloc(size * part / 8 + 1); /* its own block, so that a sanitizer sees the end */
        for (size_t i = 0; i < size * part / 8; i++)
            copy[i] = data[i];
        LLVMFuzzerTestOneInput(copy, size * part / 8);
        free(copy);
    }
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    char path[4096];
    int count = 0;

    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    if (!dir) {
        fprintf(stderr, "usage: replay FOLDER\n");
        return 2;
    }
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
        count += replay_file(path) == 0;
    }
    closedir(dir);
    printf("%d files replayed\n", count);
    return count ? 0 : 1;
}
