// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The dependencies that all connections of a transport share.
final class Wiring: Sendable {
    let resolver: any NameResolver
    let tls: TLSBridge

    init(resolver: any NameResolver, tls: TLSBridge) {
        self.resolver = resolver
        self.tls = tls
    }
}
