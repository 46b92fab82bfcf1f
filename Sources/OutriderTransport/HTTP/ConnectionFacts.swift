// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Facts about a connection that are fixed at its opening.
struct ConnectionFacts {
    /// The address at the other end, "127.0.0.1:443" or a socket path.
    var remote: String?
    /// The outcome of the TLS handshake with the server; nil without TLS.
    var tls: TLSFacts?
    /// Time after which no attempt begins on the connection: its certificate expires, or its policy must be checked
    /// again.
    var until = NIODeadline.distantFuture
    /// The 4 or 16 bytes of the local address; nil for the loopback and for sockets without an address.
    var local: [UInt8]?
    /// Whether the connection is a tunnel through a proxy.
    var isTunnel = false
    /// The sleeps of the machine that the pool had noticed.
    var sleeps = 0

    /// Whether the connection leads to another machine, if only through a proxy of this machine.
    var leadsOut: Bool { local != nil || isTunnel }
}
