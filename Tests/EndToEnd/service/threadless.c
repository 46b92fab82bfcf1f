// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors
//
// Preloaded into a service: the thread with the number $OUTRIDER_TEST_THREAD, counted from 1, cannot be made, as without
// memory for its stack. Later threads can, unless $OUTRIDER_TEST_NO_MORE is set.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int made;

int pthread_create(
    pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!create) create = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
    const char *number = getenv("OUTRIDER_TEST_THREAD");
    int turn = atomic_fetch_add(&made, 1) + 1;
    if (number && (getenv("OUTRIDER_TEST_NO_MORE") ? turn >= atoi(number) : turn == atoi(number))) return EAGAIN;
    return create(thread, attributes, start, argument);
}
