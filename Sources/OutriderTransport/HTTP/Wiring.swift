// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What all connections of a transport share.
struct Wiring: Sendable {
    let resolver: any NameResolver
    let tls: TLSBridge
}
