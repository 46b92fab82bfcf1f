// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A sent request that was followed by another.
package struct SentRequest: Sendable {
    /// The number of its attempt, from 1.
    package var attempt: Int
    package var method: String
    package var url: String
    /// Of its response, if received.
    package var status: Int?

    package init(attempt: Int, method: String, url: String, status: Int?) {
        self.attempt = attempt
        self.method = method
        self.url = url
        self.status = status
    }
}
