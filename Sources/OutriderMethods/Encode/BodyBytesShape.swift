// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// Bytes as text where they are UTF-8, else as base64.
struct BodyBytesShape {
    var bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func encodeMembers(to writer: inout JSONWriter) {
        if let text = String(validating: bytes, as: UTF8.self) {
            writer.member("text", text)
        } else {
            bytes.withUnsafeBytes { writer.member("base64", base64: $0) }
        }
    }
}
