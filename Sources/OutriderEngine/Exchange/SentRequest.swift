// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// One sending that another one followed.
package struct SentRequest: Sendable {
    /// The attempt it belongs to, from 1.
    package var attempt: Int
    package var method: String
    package var url: String
    /// Of its answer, if one came.
    package var status: Int?

    package init(attempt: Int, method: String, url: String, status: Int?) {
        self.attempt = attempt
        self.method = method
        self.url = url
        self.status = status
    }
}
