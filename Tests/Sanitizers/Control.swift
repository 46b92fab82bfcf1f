// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

// Two threads, one list behind a lock; then continuations that a thread resumes before their task waits. `control race`
// counts beside the lock, too, which ThreadSanitizer must report; `control leap` reads behind memory, which
// AddressSanitizer must report; anything else must be silent.

import Glibc
import Synchronization

final class Shared: Sendable {
    let list = Mutex<[Int]>([])
}

let fault = CommandLine.arguments.dropFirst().first ?? ""

func start(_ work: @escaping @Sendable () -> Void) -> pthread_t {
    final class Box: Sendable {
        let work: @Sendable () -> Void
        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }
    var thread = pthread_t()
    pthread_create(
        &thread, nil,
        { raw in
            if let raw { Unmanaged<Box>.fromOpaque(raw).takeRetainedValue().work() }
            return nil
        }, Unmanaged.passRetained(Box(work)).toOpaque())
    return thread
}

func locks(_ isRacing: Bool) -> Int {
    let shared = Shared()
    nonisolated(unsafe) let unguarded = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    unguarded.initialize(to: 0)
    let threads = (0..<2).map { _ in
        start {
            for number in 0..<100_000 {
                shared.list.withLock { list in
                    list.append(number)
                    if list.count > 50 { list.removeAll() }
                }
                if isRacing { unguarded.pointee &+= 1 }
            }
        }
    }
    for thread in threads { pthread_join(thread, nil) }
    return fault == "leap" ? (unguarded + 1).pointee : 0
}

func continuations() async -> Int {
    var sum = 0
    for number in 0..<200 {
        let list = await withUnsafeContinuation { continuation in
            pthread_detach(start { continuation.resume(returning: [number, number]) })
            // no lock: nothing else may tell that the thread is through
            usleep(1000)
        }
        sum += list[0]
    }
    return sum
}

let read = locks(fault == "race")
let sum = await continuations()
print("done", read, sum)
