// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Notices that this machine may have lost an address: nothing would arrive on connections from that address.
///
/// A check costs a system call, and happens only once there was a connection beyond the loopback.
struct AddressWatch {
    private var socket: RouteSocket?
    private var isOpened = false
    /// Whether there was a change after which the addresses could not be read.
    private var isDue = false

    /// A connection that later attempts may use could lose its address.
    mutating func watch(for facts: ConnectionFacts) {
        guard !isOpened, facts.local != nil else { return }
        isOpened = true
        socket = RouteSocket()
    }

    /// The addresses of this machine; nil if none has changed since the last call.
    mutating func changed() -> Set<[UInt8]>? {
        guard let socket, socket.hasRung() || isDue else { return nil }
        let own = NetworkPath.localAddresses()
        isDue = own == nil
        return own
    }
}

extension ConnectionFacts {
    /// Whether the connection's own address is missing among these.
    func isLost(_ own: Set<[UInt8]>) -> Bool { local.map { !own.contains($0) } ?? false }
}
