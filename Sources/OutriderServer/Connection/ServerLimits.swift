// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
package import OutriderRPC

/// Limits for a client, and for all clients together (protocol section 14).
package struct ServerLimits: Sendable {
    package var frame = FrameLimits()
    package var message = MessageLimits()
    package var calls = CallLimits()
    package var outbox = OutboxLimits()
    /// Clients at once. The service sets this by `--max-clients` or the limit of descriptors. Default 256.
    package var connections = 256
    /// When all places are taken, a client without a complete message after this time gives way to a new client.
    /// Default 10 s.
    package var firstMessage = Duration.seconds(10)
    /// Messages over this size, in bytes, are parsed off the event loop. Default 64 KiB.
    package var parseOnLoop = 64 << 10

    /// How long a message waits for memory. Default 30 s.
    package var memoryPatience = Duration.seconds(30)

    /// The limits by their names in `server.info`.
    package var named: [(name: StaticString, value: Int)] {
        [
            ("messageBytes", frame.message),
            ("headerBytes", frame.header),
            ("depth", message.json.depth),
            ("batchItems", message.batchItems),
            ("callsInFlight", calls.callsInFlight),
            ("callbacks", calls.callbacks),
            ("connections", connections),
            ("outboxBytes", outbox.pauseBytes),
            ("outboxCloseBytes", outbox.closeBytes),
            ("idCharacters", message.idCharacters),
            ("methodCharacters", message.methodCharacters),
        ]
    }
}
