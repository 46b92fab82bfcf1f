// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// `httpVersion` of a request or a session.
enum HTTPVersionWord: String, Sendable, CaseIterable {
    case auto
    case http11 = "1.1"
    case http2 = "2"

    var choice: HTTPVersionChoice {
        switch self {
        case .auto: .auto
        case .http11: .http11
        case .http2: .http2
        }
    }
}
