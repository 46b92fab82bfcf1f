// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// Where a stream's bytes come from.
package protocol ByteSource: Sendable {
    /// How many there will be in all, where that is known from the beginning.
    var size: Int? { get }

    /// The next bytes, never none; nil at the end. Asked again only after it has answered, and only when there is room.
    /// Returns or throws soon after its task is cancelled.
    func next() async throws(StreamFailure) -> [UInt8]?
}

/// Why a stream ended early.
package struct StreamFailure: Error {
    /// A Failure of the contract, written.
    package let failure: JSONText

    package init(_ failure: some JSONEncodable) {
        self.failure = JSONText(written: JSONWriter.bytes(of: failure))
    }
}
