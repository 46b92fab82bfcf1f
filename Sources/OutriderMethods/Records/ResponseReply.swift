// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// A Response for the writer: as values, or already written if long.
enum ResponseReply: JSONEncodable {
    case shape(ResponseShape)
    case text(JSONText)

    func encode(to writer: inout JSONWriter) {
        switch self {
        case .shape(let shape): shape.encode(to: &writer)
        case .text(let text): writer.text(text)
        }
    }

    var expectedBytes: Int {
        switch self {
        case .shape(let shape): shape.expectedBytes
        case .text(let text): text.bytes.count
        }
    }

    var raw: [UInt8]? {
        switch self {
        case .shape(let shape): shape.raw
        case .text(let text): text.raw
        }
    }
}
