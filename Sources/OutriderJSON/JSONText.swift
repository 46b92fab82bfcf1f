// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A JSON text in its written form: passed through unchanged, so that big integers, `1.0`, repeated names and the order
/// of members survive.
package struct JSONText: Sendable, JSONEncodable {
    package let bytes: [UInt8]
    /// Bytes that follow the text in a reply, in place of a value in base64; nil in all other texts.
    package let raw: [UInt8]?
    /// Of both, in bytes.
    package var size: Int { bytes.count + (raw?.count ?? 0) }

    /// For bytes made by `JSONWriter`.
    package init(written bytes: [UInt8]) {
        self.bytes = bytes
        raw = nil
    }

    /// The written form of a result, with its raw bytes.
    package init(of value: some JSONEncodable) {
        bytes = JSONWriter.bytes(of: value)
        raw = value.raw
    }

    /// Checks foreign bytes, and brings them into the form that every client can read: a single line, ASCII.
    ///
    /// Throws if the text is not JSON, not UTF-8, has a lone surrogate, or is nested too deep.
    package init(checking foreign: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONFailure) {
        let clean = try foreign.withUnsafeBufferPointer { foreign throws(JSONFailure) in
            if let quick = JSONQuickScan(foreign, limits: limits, refusesCuts: false) { return quick.isPrintable }
            _ = try JSONScanner.scanWhole(foreign, limits: limits, collects: false)
            return !foreign.contains { $0 < 0x20 || $0 >= 0x7F }
        }
        bytes = clean ? foreign : Self.oneASCIILine(foreign)
        raw = nil
    }

    package func encode(to writer: inout JSONWriter) { writer.text(self) }

    /// In a valid text raw control characters occur only between tokens, and raw non-ASCII only inside strings.
    private static func oneASCIILine(_ text: [UInt8]) -> [UInt8] {
        text.withUnsafeBufferPointer { text in
            var out = ByteSink(capacity: text.count + text.count / 4)
            var index = 0
            while index < text.count {
                let byte = text[index]
                if byte < 0x7F {
                    out.append(max(byte, 0x20))
                    index += 1
                } else {
                    index = out.append(escapesOf: text, from: index)
                }
            }
            return out.bytes
        }
    }
}

extension JSONWriter {
    /// JSON in its written form.
    package mutating func text(_ text: JSONText) { written(text.bytes) }

    /// Adds members in their written form, without braces, to the current object.
    package mutating func members(_ text: JSONText) {
        if !text.bytes.isEmpty { self.text(text) }
    }
}
