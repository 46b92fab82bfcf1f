// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The names and values of a text in the form of `application/x-www-form-urlencoded` (WHATWG URL section 5.1).
struct FormText {
    let pairs: [(name: String, value: String)]

    init(_ text: some StringProtocol) {
        pairs = text.utf8.split(separator: UInt8(ascii: "&")).map { piece in
            let name = piece.prefix { $0 != UInt8(ascii: "=") }
            return (Self.decode(name), Self.decode(piece[name.endIndex...].dropFirst()))
        }
    }

    func all(_ name: String) -> [String] { pairs.filter { $0.name == name }.map(\.value) }

    /// As text for the query of a URL.
    static func query(_ pairs: [(name: String, value: String)]) -> String {
        pairs.map { pair in
            "\(PercentEncoding.form.escape(pair.name))=\(PercentEncoding.form.escape(pair.value))"
        }.joined(separator: "&")
    }

    private static func decode(_ bytes: some Collection<UInt8>) -> String {
        let spaced = bytes.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }
        return String(decoding: PercentEncoding.decode(spaced), as: UTF8.self)
    }
}
