// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// Encodes names and values as `application/x-www-form-urlencoded`, as browsers do.
package struct FormEncoding: Sendable {
    package static let contentType = FormOptions.contentType

    package init() {}

    /// The body's text. `at` is the pointer to the object, for complaints.
    package func encode(_ object: JSONObject, at pointer: String) throws(HTTPFailure) -> String {
        try QueryEncoding(.browser).encode(object, at: pointer)
    }
}
