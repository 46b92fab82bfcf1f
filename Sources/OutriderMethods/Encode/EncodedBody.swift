// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The body that a value was encoded to.
struct EncodedBody: ObjectShape {
    var bytes: [UInt8]
    var contentType: String

    func encodeMembers(to writer: inout JSONWriter) {
        BodyBytesShape(bytes).encodeMembers(to: &writer)
        writer.member("contentType", contentType)
    }
}
