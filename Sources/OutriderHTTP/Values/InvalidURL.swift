// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension HTTPFailure {
    /// A URL that cannot be used, and why.
    static func invalidURL(_ message: String) -> HTTPFailure { HTTPFailure(.invalidURL, message, pointer: "/url") }
}
