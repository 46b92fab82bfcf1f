// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The body that a value was encoded to.
struct EncodedBody: JSONEncodable {
    var bytes: [UInt8]
    var contentType: String

    func encode(to writer: inout JSONWriter) {
        writer.object { writer in
            BodyBytesShape(bytes).encodeMembers(to: &writer)
            writer.member("contentType", contentType)
        }
    }
}
