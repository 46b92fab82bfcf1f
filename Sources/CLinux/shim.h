// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors
//
// System calls that the library of the system has, and that Swift's module of it hides.

#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

/// Moves a file; with flag 1 (RENAME_NOREPLACE) never over another one. glibc 2.28.
int renameat2(int from, const char *name, int to, const char *newName, unsigned int flags);

/// No other process of the user may look into this one, and it leaves no core behind. 0, or -1 and errno.
static inline int outrider_close_to_others(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

/// The heap, with so much free, stays in memory and is in no dump; what is allocated from now on is from there, but for more
/// than 32 MB at once. To be called before there are threads, which have heaps of their own. 0, or -1 where the system locks
/// less than that.
static inline int outrider_lock_heap(size_t room) {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    // volatile: a compiler that optimizes leaves out what is freed unused
    void *volatile some = malloc(room);
    free(some);
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps) return -1;
    char line[512];
    unsigned long start, end;
    int result = -1;
    while (result < 0 && fgets(line, sizeof line, maps)) {
        if (!strstr(line, "[heap]") || sscanf(line, "%lx-%lx", &start, &end) != 2) continue;
        madvise((void *)start, end - start, MADV_DONTDUMP);
        result = mlock((void *)start, end - start);
        if (result < 0) break;
    }
    fclose(maps);
    return result;
}

/// Large blocks are mapped, each by itself, and go back to the system when they are freed. By default glibc raises the limit
/// from which it maps to the size of the largest block so far, up to 32 MB, and keeps what it does not map. Where addresses
/// are few (`ulimit -v`) all threads share a heap: each heap takes 64 MiB of addresses, and threads that find no stack are
/// waited for without an end.
static inline void outrider_map_large_blocks(void) {
    struct rlimit addresses;
    if (!getrlimit(RLIMIT_AS, &addresses) && addresses.rlim_cur < 2UL << 30) mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 512 << 10);
    mallopt(M_TRIM_THRESHOLD, 4 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
}

/// Returns the free pages of the heap to the system.
static inline void outrider_return_free_pages(void) { malloc_trim(0); }

int pthread_getattr_default_np(pthread_attr_t *attr);
int pthread_setattr_default_np(const pthread_attr_t *attr);

/// Threads from now on have a stack of at least so many bytes, where `ulimit -s` gives them less. 0, or an error number.
static inline int outrider_raise_stacks(size_t least) {
    pthread_attr_t attr;
    size_t size = 0;
    int result = pthread_getattr_default_np(&attr);
    if (result) return result;
    result = pthread_attr_getstacksize(&attr, &size);
    if (!result && size < least) {
        result = pthread_attr_setstacksize(&attr, least);
        if (!result) result = pthread_setattr_default_np(&attr);
    }
    pthread_attr_destroy(&attr);
    return result;
}

/// Gives a process another limit of open files. 0, or -1 and errno.
static inline int outrider_limit_files(int process, uint64_t soft, uint64_t hard) {
    uint64_t limit[2] = {soft, hard};
    return (int)syscall(SYS_prlimit64, process, 7 /* RLIMIT_NOFILE */, limit, NULL);
}

/// Names the calling thread in the lists of the system (ps -L, top -H): at most 15 bytes.
static inline void outrider_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

/// A key of the user's keyring by its name, or -1; and a new one in its place, which all processes of the user may read:
/// those of a service manager have another session than those of a terminal.
static inline long outrider_key_find(const char *name) {
    return syscall(SYS_keyctl, 10L /* KEYCTL_SEARCH */, -4L /* KEY_SPEC_USER_KEYRING */, "user", name, 0L);
}
static inline long outrider_key_read(long key, void *to, size_t size) {
    return syscall(SYS_keyctl, 11L /* KEYCTL_READ */, key, to, size, 0L);
}
static inline long outrider_key_put(const char *name, const void *from, size_t size) {
    long key = syscall(SYS_add_key, "user", name, from, size, -4L /* KEY_SPEC_USER_KEYRING */);
    if (key >= 0) syscall(SYS_keyctl, 5L /* KEYCTL_SETPERM */, key, 0x3f3f0000L /* its possessor and its user: all */);
    return key;
}
static inline long outrider_key_forget(long key) {
    return syscall(SYS_keyctl, 9L /* KEYCTL_UNLINK */, key, -4L /* KEY_SPEC_USER_KEYRING */, 0L, 0L);
}

/// A descriptor that can be read when a child has ended (pidfd_open(2)), or -1. Linux 5.3.
static inline int outrider_process_open(pid_t process) { return (int)syscall(SYS_pidfd_open, (long)process, 0L); }

/// A pipe whose ends have these flags from the beginning. Linux 2.6.27.
int pipe2(int ends[2], int flags);

/// What kind of file system a file is on (statfs(2)), or -1.
static inline long outrider_file_system(const char *path) {
    struct statfs info;
    return statfs(path, &info) == 0 ? (long)(uint32_t)info.f_type : -1;
}

/// Closes every descriptor from this one on in the process that is started. glibc 2.34.
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);

/// Takes room for bytes of a file; with mode 1 (FALLOC_FL_KEEP_SIZE) its size stays. Only where the file system can.
int fallocate(int file, int mode, long offset, long length);

/// With flag 2 (SYNC_FILE_RANGE_WRITE), lets the medium begin with what is written there, and does not wait for it.
int sync_file_range(int file, long offset, long length, unsigned int flags);
