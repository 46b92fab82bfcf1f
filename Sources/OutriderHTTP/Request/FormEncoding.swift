// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// Names and values as an `application/x-www-form-urlencoded` body (WHATWG URL section 5.2): as QueryEncoding, but a space
/// is `+` and only letters, digits and `*-._` stay as they are.
package struct FormEncoding: Sendable {
    package static let contentType = "application/x-www-form-urlencoded; charset=utf-8"

    package var query = QueryEncoding()

    package init() { query.escaping = .form }

    /// The body's text. `at` is the pointer to the object, for complaints.
    package func encode(_ object: JSONObject, at pointer: String) throws(HTTPFailure) -> String {
        try query.encode(object, at: pointer)
    }
}
