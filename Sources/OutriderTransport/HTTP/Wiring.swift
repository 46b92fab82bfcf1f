// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The dependencies that all connections of a transport share.
struct Wiring: Sendable {
    let resolver: any NameResolver
    let tls: TLSBridge
}
