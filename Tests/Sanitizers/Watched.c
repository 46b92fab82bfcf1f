// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors
//
// Parts of a watched binary, with no change to the product.

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// Options of the sanitizer, also in a process that a test starts without an environment.
const char *__tsan_default_options(void);
const char *__asan_default_options(void);

const char *__tsan_default_options(void) { return OPTIONS; }
const char *__asan_default_options(void) { return OPTIONS; }

// A sanitizer keeps its notes at terabytes of addresses, and the credential helper limits its own: all but that limit.
int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit) {
    return resource == RLIMIT_AS ? 0 : (int)syscall(SYS_prlimit64, 0, resource, limit, 0);
}
