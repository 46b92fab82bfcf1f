// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// A token introspection response (RFC 7662 section 2.2).
package struct IntrospectionResponse: Sendable, Equatable {
    package let isActive: Bool
    /// The complete response.
    package let document: JSONObject

    /// Throws `temporary` for a malformed response.
    package init(_ bytes: [UInt8]) throws(OAuthFailure) {
        guard case .object(let members)? = try? JSONParser.parse(bytes, limits: .small),
            case .bool(let isActive)? = members["active"]
        else {
            throw OAuthFailure(
                .temporary, "malformed_answer", "the introspection endpoint does not say whether the token is active")
        }
        self.isActive = isActive
        document = members
    }
}
