// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// Which server must be on the other side, and by which rules.
struct ServerSubject: Hashable, Sendable {
    /// Of the URL, for messages.
    var host: String
    /// What must be among the names of the certificate: the host, or the server name of the settings.
    var name: String
    var security: ConnectionSecurity
    var port = 443
    /// Which addresses may be asked about revoked certificates.
    var addresses = AddressPolicy.any
}
