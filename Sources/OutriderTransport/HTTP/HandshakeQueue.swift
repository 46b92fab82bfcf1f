// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// An attempt whose opening handshake waits for its turn.
protocol HandshakeWaiter: AnyObject {
    /// The turn has come.
    func beginHandshake()
}

/// Serialises the opening handshakes of a client with a server (RFC 6455 section 4.1 item 2).
struct HandshakeQueue {
    struct Key: Hashable {
        var client: ClientKey
        var host: String
        var port: Int

        init(_ attempt: Attempt, _ destination: HTTPURL) {
            client = attempt.client
            host = destination.socketPath ?? destination.host
            port = destination.port
        }
    }

    /// A present key has a handshake in progress; the attempts wait for its end.
    private var waiting: [Key: [any HandshakeWaiter]] = [:]

    /// True if the handshake may begin now.
    mutating func enter(_ waiter: any HandshakeWaiter, _ key: Key) -> Bool {
        guard waiting[key]?.append(waiter) == nil else { return false }
        waiting[key] = []
        return true
    }

    /// The handshake in progress is over. Returns the next waiter.
    mutating func leave(_ key: Key) -> (any HandshakeWaiter)? {
        guard let first = waiting[key]?.first else {
            waiting[key] = nil
            return nil
        }
        waiting[key]?.removeFirst()
        return first
    }

    /// Gives up waiting.
    mutating func withdraw(_ waiter: any HandshakeWaiter, _ key: Key) { waiting[key]?.removeAll { $0 === waiter } }
}
