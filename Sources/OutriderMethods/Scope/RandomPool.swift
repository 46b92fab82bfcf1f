// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import Synchronization

/// Random numbers from the kernel, fetched 4 KiB at a time: two system calls for every handle would cost a small
/// request more than its JSON.
enum RandomPool {
    private static let most = 512
    private static let numbers = Mutex<[UInt64]>([])

    /// Two fresh numbers.
    static func pair() -> (UInt64, UInt64) {
        numbers.withLock { numbers in
            if numbers.count < 2 { numbers = fresh() }
            return (numbers.removeLast(), numbers.removeLast())
        }
    }

    private static func fresh() -> [UInt64] {
        var numbers = [UInt64](repeating: 0, count: most)
        let source = open("/dev/urandom", O_RDONLY | O_CLOEXEC)
        if source >= 0 {
            let filled = numbers.withUnsafeMutableBytes { read(source, $0.baseAddress, $0.count) == $0.count }
            close(source)
            if filled { return numbers }
        }
        var system = SystemRandomNumberGenerator()
        return (0..<most).map { _ in system.next() }
    }
}
