/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzzer's function once on each file of the folders given: how the corpus is exercised in
 * builds without libFuzzer. Exit status 1 if there is nothing to run or a file cannot be read; a
 * broken invariant aborts.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In a block of exactly its size, so that sanitizers and valgrind see reads beyond the end. */
static int replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size + (size == 0));
    int done = file != NULL && data != NULL && fread(data, 1, size, file) == size;

    if (done) {
        printf("%s: %zu bytes\n", path, size);
        fflush(stdout); /* names the file if an invariant aborts */
        LLVMFuzzerTestOneInput(data, size);
    } else {
        perror(path);
    }
    free(data);
    if (file != NULL)
        fclose(file);
    return done;
}

/* The number of files run; -1 if one cannot be read. */
static long replay_folder(const char *folder)
{
    long count = 0;
    DIR *directory = opendir(folder);

    if (directory == NULL) {
        perror(folder);
        return -1;
    }
    for (const struct dirent *entry; count >= 0 && (entry = readdir(directory)) != NULL;) {
        char path[4096];
        struct stat status;

        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
            continue;
        count = replay_file(path, (size_t)status.st_size) ? count + 1 : -1;
    }
    closedir(directory);
    return count;
}

int main(int count, char **folders)
{
    for (int i = 1; i < count; i++) {
        long files = replay_folder(folders[i]);

        if (files <= 0) {
            fprintf(stderr, "%s: no seed was replayed\n", folders[i]);
            return EXIT_FAILURE;
        }
        printf("%s: %ld files replayed\n", folders[i], files);
    }
    return count > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
