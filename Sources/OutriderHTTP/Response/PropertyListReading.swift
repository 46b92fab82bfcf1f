// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// Property lists, XML and binary, turned into JSON.
///
/// | property list     | JSON                                                        |
/// |-------------------|-------------------------------------------------------------|
/// | string, dict, array, true, false, integer, real | the same                      |
/// | data              | `{"$data": "<base64>"}`                                     |
/// | date              | `{"$date": "2001-01-01T00:00:00Z"}`                         |
/// | nan, infinities   | `{"$real": "nan"}`, `"inf"`, `"-inf"`                       |
/// | UID (binary only) | `{"$uid": 1}`                                               |
package enum PropertyListReading {

    package static func json(_ bytes: [UInt8]) throws(PropertyListFault) -> JSONText {
        let value = try value(bytes)
        var writer = JSONWriter(capacity: bytes.count + 64)
        value.encode(to: &writer)
        return JSONText(written: writer.bytes)
    }

    static func value(_ bytes: [UInt8]) throws(PropertyListFault) -> PropertyListValue {
        if bytes.starts(with: BinaryPropertyList.magic) {
            var list = try BinaryPropertyList(bytes)
            return try list.root()
        }
        guard let text = TextDecoding.decode(bytes, wanted: declared(bytes)) else {
            throw PropertyListFault(reason: "it begins neither with bplist00 nor with XML text")
        }
        var list = XMLPropertyList(Array(text.text.utf8))
        return try list.root()
    }

    /// The encoding that an XML declaration names (XML 1.0 section 4.3.3).
    private static func declared(_ bytes: [UInt8]) -> String? {
        let head = bytes.prefix(200)
        guard head.starts(with: Array("<?xml".utf8)), let end = head.firstIndex(of: UInt8(ascii: ">")) else {
            return nil
        }
        let text = String(decoding: head[..<end], as: UTF8.self)
        guard let place = text.range(ofName: "encoding") else { return nil }
        let value = text[place...].drop { $0 == " " || $0 == "=" }
        guard let quote = value.first, quote == "\"" || quote == "'" else { return nil }
        return String(value.dropFirst().prefix { $0 != quote })
    }
}

extension String {
    /// The index behind a name.
    fileprivate func range(ofName name: String) -> String.Index? {
        var rest = self[...]
        while !rest.isEmpty {
            if rest.hasPrefix(name) { return rest.index(rest.startIndex, offsetBy: name.count) }
            rest = rest.dropFirst()
        }
        return nil
    }
}
