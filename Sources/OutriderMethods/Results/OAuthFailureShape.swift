// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Why there is no token.
struct OAuthFailureShape: ObjectShape {
    private var failure: OAuthFailure

    init(_ failure: OAuthFailure) { self.failure = failure }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("kind", failure.kind.rawValue)
        writer.member("reason", failure.reason)
        writer.member("message", failure.message)
        writer.member("retryAfter", failure.retryAfter)
    }
}
