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

    package init(method: String, url: String, fields: HTTPFields = [], body: [UInt8] = []) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
    }

    package init(_ attempt: Attempt, body: [UInt8]) {
        self.init(method: attempt.method, url: attempt.url.description, fields: attempt.fields, body: body)
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
        var rest = url[...]
        if let scheme = rest.range(of: "://") {
            let host = rest[scheme.upperBound...]
            let ends = [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")]
            let end = host.utf8.firstIndex { ends.contains($0) } ?? host.endIndex
            origin = rest[..<end]
            rest = rest[end...]
        } else {
            origin = ""
        }
        if let fragment = rest.utf8.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
        guard let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) else {
            path = rest
            query = nil
            return
        }
        path = rest[..<mark]
        query = rest[rest.index(after: mark)...]
    }
}

extension Substring {
    /// The first place of a short text.
    func range(of text: StaticString) -> Range<Index>? {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        var start = utf8.startIndex
        while start < utf8.endIndex {
            if utf8[start...].starts(with: wanted) { return start..<utf8.index(start, offsetBy: wanted.count) }
            start = utf8.index(after: start)
        }
        return nil
    }
}
