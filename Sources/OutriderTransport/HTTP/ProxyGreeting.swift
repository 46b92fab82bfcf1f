// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// The fields that a proxy gets with CONNECT.
struct ProxyGreeting {
    var userAgent: String?
    var authorization: ProxyAuthorization?

    /// Only the repetition of a refused request uses the connection of the refusal. Some proxies never reply to a
    /// second CONNECT: that repetition fails there, but no other request.
    var isRepetition: Bool { authorization?.isRepetition == true }

    init(_ attempt: Attempt) {
        userAgent = attempt.proxies == nil ? nil : attempt.fields.first("User-Agent")
        authorization = attempt.proxyAuthorization
    }
}
