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
            let end = host.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? host.endIndex
            origin = rest[..<end]
            rest = rest[end...]
        } else {
            origin = ""
        }
        if let fragment = rest.firstIndex(of: "#") { rest = rest[..<fragment] }
        guard let mark = rest.firstIndex(of: "?") else {
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
    func range(of text: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}
