// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// The head of a response.
package struct ExchangeHead: Sendable {
    package var status: Int
    /// "1.0" or "1.1".
    package var version: String
    package var fields: HTTPFields
    /// The cache's report on the response; nil if the request has no cache.
    package var cache: CacheReport?
    /// The reason phrase of HTTP/1; empty for HTTP/2, which has none.
    package var reason = ""
}
