// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
package import OutriderRPC

/// How much one client, and all of them together, may ask of the service (protocol section 14).
package struct ServerLimits: Sendable {
    package var frame = FrameLimits()
    package var message = MessageLimits()
    package var calls = CallLimits()
    package var outbox = OutboxLimits()
    /// Clients at once. The service sets it by `--max-clients` or the limit of descriptors. Default 256.
    package var connections = 256
    /// When all places are taken, a client that has said no message for so long gives way to a new one. Default 10 s.
    package var firstMessage = Duration.seconds(10)
    /// Messages over this are parsed off the event loop. Default 64 KiB.
    package var parseOnLoop = 64 << 10

    package init() {}

    /// By the names of `server.info`.
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
