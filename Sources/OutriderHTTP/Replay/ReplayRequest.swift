// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// One attempt as stubs and cassettes compare it.
package struct ReplayRequest: Sendable, Equatable {
    package var method: String
    /// The whole URL, without its fragment.
    package var url: String
    package var fields: HTTPFields
    /// The bytes before any compression; empty without a body.
    package var body: [UInt8]
    /// The body has a coding that cannot be decoded.
    package var isCoded = false

    package init(method: String, url: String, fields: HTTPFields = [], body: [UInt8] = []) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
    }

    package init(_ attempt: Attempt, body: [UInt8], isCoded: Bool = false) {
        self.init(method: attempt.method, url: attempt.url.description, fields: attempt.fields, body: body)
        self.isCoded = isCoded
    }

    package var contentType: String? { fields.first("Content-Type") }

    /// For messages: method and URL without its query.
    package var title: String { "\(method) \(HTTPFailure.excerpt(String(url.prefix { $0 != "?" })))" }
}

/// The parts of a URL's text.
struct URLParts {
    /// `https://host:port`; empty if the text begins with its path.
    var origin: Substring
    var path: Substring
    /// Behind the question mark; nil without one.
    var query: Substring?

    init(_ url: String) {
        var url = url
        let marks = url.withUTF8 { Marks($0) }
        func place(_ offset: Int) -> String.Index { url.utf8.index(url.startIndex, offsetBy: offset) }
        origin = url[..<place(marks.path)]
        path = url[place(marks.path)..<place(marks.query ?? marks.end)]
        query = marks.query.map { url[place($0 + 1)..<place(marks.end)] }
    }

    /// Where the parts begin, in bytes.
    private struct Marks {
        var path = 0
        /// The question mark.
        var query: Int?
        /// The fragment, or the end of the text.
        var end: Int

        init(_ bytes: UnsafeBufferPointer<UInt8>) {
            if bytes.first != UInt8(ascii: "/"), let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
                bytes[colon...].starts(with: "://".utf8)
            {
                path =
                    bytes[(colon + 3)...].firstIndex { byte in
                        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
                    } ?? bytes.count
            }
            end = bytes[path...].firstIndex(of: UInt8(ascii: "#")) ?? bytes.count
            query = bytes[path..<end].firstIndex(of: UInt8(ascii: "?"))
        }
    }
}
