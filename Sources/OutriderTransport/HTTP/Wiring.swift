// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOPosix

/// What all connections of a transport share.
struct Wiring: Sendable {
    let resolver: any NameResolver
    let tls: TLSBridge
    /// For reading files: they block.
    let files: NIOThreadPool
}
