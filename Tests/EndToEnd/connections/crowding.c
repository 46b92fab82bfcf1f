// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors
//
// Preloaded into a service: as soon as the file $OUTRIDER_TEST_CROWD is there, the process may open nothing for 2.5 seconds,
// while more work waits for libdispatch's threads than these can do. The file is removed when that is over.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static void rest(void *unused) {
    (void)unused;
    usleep(100000);
}

static void *crowd(void *path) {
    while (access(path, F_OK) != 0) usleep(10000);
    void *(*queue)(long, unsigned long) = (void *(*)(long, unsigned long))dlsym(RTLD_DEFAULT, "dispatch_get_global_queue");
    void (*submit)(void *, void *, void (*)(void *)) =
        (void (*)(void *, void *, void (*)(void *)))dlsym(RTLD_DEFAULT, "dispatch_async_f");
    // a binary that holds libdispatch itself does not show it: the file stays
    if (!queue || !submit) return NULL;
    // libdispatch opens what it needs for itself with its first work
    for (int i = 0; i < 16; i++) submit(queue(0, 0), NULL, rest);
    usleep(1000000);
    struct rlimit before, none;
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    for (int i = 0; i < 300; i++) submit(queue(0, 0), NULL, rest);
    usleep(2500000);
    setrlimit(RLIMIT_NOFILE, &before);
    unlink(path);
    return NULL;
}

__attribute__((constructor)) static void start(void) {
    char *path = getenv("OUTRIDER_TEST_CROWD");
    pthread_t thread;
    if (path && pthread_create(&thread, NULL, crowd, path) == 0) pthread_detach(thread);
}
