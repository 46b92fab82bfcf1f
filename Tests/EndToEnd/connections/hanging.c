// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors
//
// Preloaded by tests: what blocks, blocks long. Looking up a name that begins with "silent" takes until the file
// OUTRIDER_TEST_HANG is gone; so does reading a file whose name begins with "never-read". Removing a file takes
// OUTRIDER_TEST_REMOVAL milliseconds.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void hang(void) {
    const char *path = getenv("OUTRIDER_TEST_HANG");
    while (path && access(path, F_OK) == 0) usleep(10000);
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!real) real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (node && strncmp(node, "silent", 6) == 0) {
        hang();
        return EAI_AGAIN;
    }
    // any other name is this machine
    return real(node && strstr(node, ".test") ? "127.0.0.1" : node, service, hints, found);
}

ssize_t pread(int file, void *buffer, size_t count, off_t offset) {
    static ssize_t (*real)(int, void *, size_t, off_t);
    if (!real) real = dlsym(RTLD_NEXT, "pread");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length > 0) {
        path[length] = 0;
        if (strstr(path, "/never-read")) hang();
    }
    return real(file, buffer, count, offset);
}

ssize_t pread64(int file, void *buffer, size_t count, off_t offset) { return pread(file, buffer, count, offset); }

int unlink(const char *path) {
    static int (*real)(const char *);
    if (!real) real = dlsym(RTLD_NEXT, "unlink");
    const char *each = getenv("OUTRIDER_TEST_REMOVAL");
    if (each) usleep((useconds_t)atoi(each) * 1000);
    return real(path);
}
