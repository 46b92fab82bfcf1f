// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors
//
// Preloaded by tests: shifts the clocks of every process that has it, while it runs, by what stands in a file: three whole
// numbers of 64 bits, in seconds, for the calendar, for the clock of the boot, and for the one that stops in sleep. The last
// also makes the last segments of TCP older. With OUTRIDER_TEST_ALARMS, alarms ring twenty times as soon.

#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *shift;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("OUTRIDER_TEST_CLOCKS");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *found = mmap(NULL, 24, PROT_READ, MAP_SHARED, file, 0);
    if (found != MAP_FAILED) shift = found;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (failed || !shift) return failed;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += shift[0];
    if (clock == CLOCK_BOOTTIME) now->tv_sec += shift[1];
    if (clock == CLOCK_MONOTONIC) now->tv_sec += shift[2];
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    if (now) *now = time.tv_sec;
    return time.tv_sec;
}

int getsockopt(int socket, int level, int name, void *value, socklen_t *size) {
    int failed = (int)syscall(SYS_getsockopt, socket, level, name, value, size);
    if (failed || !shift || level != IPPROTO_TCP || name != TCP_INFO || *size < sizeof(struct tcp_info)) return failed;
    struct tcp_info *info = value;
    info->tcpi_last_ack_recv += (uint32_t)shift[2] * 1000;
    info->tcpi_last_data_recv += (uint32_t)shift[2] * 1000;
    return 0;
}

unsigned alarm(unsigned seconds) {
    long each = getenv("OUTRIDER_TEST_ALARMS") ? 50000 : 1000000;
    struct itimerval next = {{0, 0}, {seconds * each / 1000000, seconds * each % 1000000}}, last;
    setitimer(ITIMER_REAL, &next, &last);
    return (unsigned)last.it_value.tv_sec;
}
