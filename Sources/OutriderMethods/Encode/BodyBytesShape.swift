// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// Bytes as text if they are UTF-8 without U+0000, which half of the JSON parsers of clients lose or cut; else as base64.
struct BodyBytesShape {
    var bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func encodeMembers(to writer: inout JSONWriter) {
        if !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) {
            writer.member("text", text)
        } else {
            bytes.withUnsafeBytes { writer.member("base64", base64: $0) }
        }
    }
}
