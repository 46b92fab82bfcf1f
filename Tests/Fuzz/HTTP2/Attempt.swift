// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What HTTP/2 needs of an attempt. The whole one brings trust, proxies and logins with it.
package struct Attempt: Sendable {
    package var method: String
    package var url: HTTPURL
    package var fields: HTTPFields
    package var body = AttemptBody.none
    package let decodesContent = true

    package init(method: String, url: HTTPURL, fields: HTTPFields) {
        self.method = method
        self.url = url
        self.fields = fields
    }
}

package enum AttemptBody: Sendable, Equatable {
    case none
    case bytes([UInt8])

    package var size: Int64? { 0 }
}
