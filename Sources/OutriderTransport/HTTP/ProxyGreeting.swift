// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// The fields that a proxy gets with CONNECT.
struct ProxyGreeting {
    var userAgent: String?
    var authorization: ProxyAuthorization?

    init(_ attempt: Attempt) {
        userAgent = attempt.proxies == nil ? nil : attempt.fields.first("User-Agent")
        authorization = attempt.proxyAuthorization
    }
}
