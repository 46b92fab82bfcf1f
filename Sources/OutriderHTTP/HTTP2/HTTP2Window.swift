// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Bytes that may still be sent (RFC 9113 section 5.2). Negative after the peer has made its windows smaller.
struct HTTP2Window {
    /// 2^31-1.
    static let most = 0x7FFF_FFFF

    private(set) var left: Int

    init(_ left: Int) { self.left = left }

    mutating func take(_ bytes: Int) { left -= bytes }

    /// False if the window would exceed the maximum. Both values are below 2^32, so the sum cannot overflow.
    mutating func grow(_ bytes: Int) -> Bool {
        guard left + bytes <= Self.most else { return false }
        left += bytes
        return true
    }
}

/// Limits the total growth of the receive windows of all connections beyond their initial size, in bytes. Each event
/// loop has a reserve.
package final class HTTP2WindowReserve {
    private let most: Int
    private var lent = 0

    /// - Parameter most: default 64 MiB.
    package init(most: Int = 64 << 20) { self.most = most }

    func lend(_ bytes: Int) -> Bool {
        guard bytes <= most - lent else { return false }
        lent += bytes
        return true
    }

    func giveBack(_ bytes: Int) { lent = max(0, lent - bytes) }
}

/// The receive window, and the credit owed to the peer for consumed bytes (RFC 9113 section 6.9).
///
/// The window grows to 1 MiB at once after its reader has kept up for a whole window, then doubles each time: a reader that
/// pauses costs no more than the initial size.
struct HTTP2ReceiveWindow {
    static let mostGrown = 16 << 20
    private static let firstGrown = 1 << 20

    /// The size that credit restores.
    private(set) var size: Int
    /// Bytes beyond the initial size.
    private(set) var grown = 0
    /// Bytes that the peer may still send.
    private(set) var left: Int
    private var owed = 0
    /// Bytes received and not consumed.
    private(set) var held = 0
    /// Bytes consumed since the size changed, while the reader kept up.
    private var kept = 0

    init(_ size: Int) {
        self.size = size
        left = size
    }

    /// False if the peer exceeds the window.
    mutating func receive(_ bytes: Int) -> Bool {
        guard bytes <= left else { return false }
        left -= bytes
        held += bytes
        if held > size / 2 { kept = 0 }
        return true
    }

    /// The WINDOW_UPDATE increment to send now, or 0: increments are at least half of the window.
    ///
    /// - Parameter reserve: nil for a window that does not grow.
    mutating func take(_ bytes: Int, _ reserve: HTTP2WindowReserve?) -> Int {
        let bytes = min(max(0, bytes), held)
        held -= bytes
        owed += bytes
        kept += bytes
        if let reserve, kept >= size, size < Self.mostGrown {
            kept = 0
            let more = max(min(size, Self.mostGrown - size), Self.firstGrown - size)
            if reserve.lend(more) {
                size += more
                grown += more
                owed += more
            }
        }
        guard owed > 0, owed >= size / 2 else { return 0 }
        defer { owed = 0 }
        left += owed
        return owed
    }
}
