// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Written before the first byte of a request to a token endpoint, and removed once the response is stored: a leftover
/// intent means that a process stopped in between.
package struct RotationIntent: Sendable, Equatable {
    /// The record's generation at that time.
    package var generation: UInt64
    /// SHA-256 of the redeemed refresh token; empty without a token.
    package var token: [UInt8]
    /// Identifies the attempt: a stored response must carry the same number.
    package var attempt: UInt64
    /// How often the same refresh token was sent before.
    package var replays: Int
    package var began: ClockPair
    /// When the connection ended; nil if no process saw its end.
    package var ended: ClockPair?
    package var boot: String
    /// The token was sent once more, and the server was out of order: the repetition is owed, however long that lasts.
    package var isOwed = false

    package init(
        generation: UInt64, token: [UInt8], attempt: UInt64, replays: Int, began: ClockPair, boot: String
    ) {
        self.generation = generation
        self.token = token
        self.attempt = attempt
        self.replays = replays
        self.began = began
        self.boot = boot
    }

    /// How many seconds the outcome has been unknown; nil if the calendar, the only clock that outlives a boot, was set
    /// back.
    package func age(at now: ClockPair, boot: String) -> Double? {
        let since = ended ?? began
        // a clock ahead of this machine's belongs to another container
        let isOurs = boot == self.boot && now.boot >= since.boot
        let age = isOurs ? now.boot - since.boot : now.wall - since.wall
        return age >= 0 ? age : nil
    }
}

extension RotationIntent: Packed {
    package func pack(into writer: inout PackedWriter) {
        writer.put(1, generation)
        writer.put(2, bytes: token)
        writer.put(3, attempt)
        writer.put(4, replays)
        writer.put(5, began)
        writer.put(6, ended)
        writer.put(7, boot)
        if isOwed { writer.put(8, true) }
    }

    package init(packed scanner: PackedScanner) throws(PackedFault) {
        self.init(
            generation: try scanner.number(1).orFault(), token: try scanner.bytes(2).orFault(),
            attempt: try scanner.number(3).orFault(), replays: try scanner.integer(4).orFault(),
            began: try scanner.value(5).orFault(), boot: try scanner.text(7).orFault())
        ended = try scanner.value(6)
        isOwed = try scanner.flag(8) ?? false
    }
}
