// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Tries threads before those are made whose lack ends or stops the process without a sentence.
package enum ThreadRoom {
    static let failure = StartFailure(
        "the system has no room for the threads that read and write: raise the limits of memory (ulimit -v) and "
            + "of processes (ulimit -u)")

    /// - Parameter count: threads that live at the same time.
    package static func check(_ count: Int) throws(StartFailure) {
        let gate = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        pthread_mutex_init(gate, nil)
        defer {
            pthread_mutex_destroy(gate)
            gate.deallocate()
        }
        var threads: [pthread_t] = []
        pthread_mutex_lock(gate)
        while threads.count < count {
            var thread = pthread_t()
            // allocates nothing, so that the thread leaves no arena behind
            let refusal = pthread_create(
                &thread, nil,
                { gate in
                    guard let gate = gate?.assumingMemoryBound(to: pthread_mutex_t.self) else { return nil }
                    pthread_mutex_lock(gate)
                    pthread_mutex_unlock(gate)
                    return nil
                }, gate)
            if refusal != 0 { break }
            threads.append(thread)
        }
        pthread_mutex_unlock(gate)
        for thread in threads { pthread_join(thread, nil) }
        if threads.count < count { throw failure }
    }
}
