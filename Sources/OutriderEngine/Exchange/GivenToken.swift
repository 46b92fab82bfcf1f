// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// A token that was applied to an attempt.
struct GivenToken: Sendable {
    let shared: SharedCredential
    let token: AccessToken
    let credential: Credential
    /// The user behind the token, for caches; nil if only the token itself tells.
    let principal: String?
    /// Statuses that mean that the token is no longer valid.
    let statuses: [Int]
}
