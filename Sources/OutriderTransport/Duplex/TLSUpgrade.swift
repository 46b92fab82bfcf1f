// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// A pending STARTTLS, until the handshake is done.
struct TLSUpgrade {
    var tls: DuplexTLS
    /// Bytes that the client has read.
    var delivered: Int
    var isBegun = false
    var completion: @Sendable (Result<DuplexSecurity, HTTPFailure>) -> Void
}
