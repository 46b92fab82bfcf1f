// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// A row of a store: a cookie, or a deletion.
enum JarRow: Sendable {
    case cookie(Cookie)
    case gone(Cookie.Identity)

    var identity: Cookie.Identity {
        switch self {
        case .cookie(let cookie): cookie.identity
        case .gone(let identity): identity
        }
    }

    var isGone: Bool { if case .gone = self { true } else { false } }

    /// A change by another process: whether the cookie existed before is unknown.
    var change: CookieChange {
        switch self {
        case .cookie(let cookie): CookieChange(.replaced, cookie)
        case .gone(let identity):
            CookieChange(.deleted, Cookie(name: identity.name, value: "", domain: identity.domain, path: identity.path))
        }
    }
}

extension Cookie {
    fileprivate init(name: String, value: String, domain: String, path: String) {
        self.init(name: name, value: value, domain: domain)
        self.path = path
    }
}
