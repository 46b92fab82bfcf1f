// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Synchronization

/// Remembers that a stored body passed the check of JSON unchanged, so that later responses with the same bytes need no
/// check.
package final class JSONCheck: Sendable {
    private let size: Int
    private let isPassed = Atomic(false)

    /// - Parameter size: the bytes of the body.
    package init(size: Int) { self.size = size }

    /// Whether the body, whole, has passed.
    func hasPassed(_ body: [UInt8]) -> Bool { body.count == size && isPassed.load(ordering: .relaxed) }

    /// Takes the result of a check.
    func learn(_ body: [UInt8], _ text: JSONText) {
        let isSame = body.withUnsafeBufferPointer { body in
            text.bytes.withUnsafeBufferPointer { $0.baseAddress == body.baseAddress && $0.count == body.count }
        }
        if isSame, body.count == size { isPassed.store(true, ordering: .relaxed) }
    }
}
