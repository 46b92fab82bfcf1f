// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors
//
// What ThreadSanitizer cannot see inside the libraries of Swift. These functions take the place of those of the library
// in the executable, tell what happens, and call those of the library. `Control.swift` has a part for each.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SELF __attribute__((swift_context)) void *handle
#define SWIFT __attribute__((swiftcall))
#define ASYNC __attribute__((swiftasynccall))

void __tsan_acquire(void *address);
void __tsan_release(void *address);

// An uncontended `Synchronization.Mutex` is seen, whose atomic operations are inlined; the slow ways, where one thread
// waits for another, are in the library.
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef SWIFT void (*Lock)(uint32_t thread, SELF);
typedef SWIFT void (*Unlock)(SELF);

SWIFT void known_lock(uint32_t thread, SELF) __asm__(LOCK);
SWIFT void known_unlock(SELF) __asm__(UNLOCK);

SWIFT void known_lock(uint32_t thread, SELF) {
    ((Lock)dlsym(RTLD_NEXT, LOCK))(thread, handle);
    __tsan_acquire(handle);
}

SWIFT void known_unlock(SELF) {
    __tsan_release(handle);
    ((Unlock)dlsym(RTLD_NEXT, UNLOCK))(handle);
}

// The runtime tells that a continuation was resumed, and that its task runs again; but not the second where the first
// came before the task waits, and the task goes on without a pause.
#define AWAIT "swift_continuation_await"

SWIFT void *swift_task_getCurrent(void);
typedef ASYNC void (*Await)(void *continuation);

ASYNC void known_await(void *continuation) __asm__(AWAIT);

ASYNC void known_await(void *continuation) {
    __tsan_acquire(swift_task_getCurrent());
    return ((Await)dlsym(RTLD_NEXT, AWAIT))(continuation);
}
