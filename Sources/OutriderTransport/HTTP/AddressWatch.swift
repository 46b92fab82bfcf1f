// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Notices that this machine may have lost an address: on connections that come from it nothing would arrive.
///
/// Asking costs one system call, and only once there was a connection beyond the loopback.
struct AddressWatch {
    private var socket: RouteSocket?
    private var isOpened = false

    /// A connection lies idle that could lose its address.
    mutating func watch(for facts: ConnectionFacts) {
        guard !isOpened, facts.local != nil else { return }
        isOpened = true
        socket = RouteSocket()
    }

    /// The addresses of this machine; nil if none has changed since the last call.
    func changed() -> Set<[UInt8]>? {
        guard let socket, socket.hasRung() else { return nil }
        return NetworkPath.localAddresses()
    }
}

extension ConnectionFacts {
    /// Whether its own address is none of these.
    func isLost(_ own: Set<[UInt8]>) -> Bool { local.map { !own.contains($0) } ?? false }
}
