// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The last 128 streams that the client reset.
struct HTTP2ForgottenStreams {
    private static let most = 128

    private struct Forgotten {
        let number: UInt32
        var window: Int
        /// Frames without bytes.
        var frames = 100
    }

    private var list: [Forgotten] = []
    private var next = 0

    mutating func add(_ number: UInt32, window: Int) {
        let new = Forgotten(number: number, window: window)
        if list.count < Self.most {
            list.append(new)
        } else {
            list[next] = new
            next = (next + 1) % Self.most
        }
    }

    /// Whether such a frame may have been in flight when the stream was reset.
    mutating func expects(_ number: UInt32, bytes: Int) -> Bool {
        guard let index = list.firstIndex(where: { $0.number == number }), list[index].window >= bytes,
            list[index].frames > 0
        else { return false }
        list[index].window -= bytes
        if bytes == 0 { list[index].frames -= 1 }
        return true
    }
}
