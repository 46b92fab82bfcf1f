// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The input of rules about a response: the last attempt, and the received head.
package struct ResponseFacts: Sendable {
    package var method: String
    package var url: String
    /// The values of the attempt's Accept fields; nil without them.
    package var accept: [String]?
    /// Nil without a response.
    package var status: Int?
    package var fields: HTTPFields

    package init(
        method: String = "GET", url: String = "", accept: [String]? = nil, status: Int?, fields: HTTPFields = []
    ) {
        self.method = method
        self.url = url
        self.accept = accept
        self.status = status
        self.fields = fields
    }

    package var contentType: String? { fields.first("Content-Type") }

    /// Whether the response has no body by definition: to HEAD, or with 204, 205 or 304 (RFC 9110 sections 9.3.2 and
    /// 15).
    package var hasNoBody: Bool {
        method == "HEAD" || status == 204 || status == 205 || status == 304
    }

    /// Whether the head declares an empty body.
    package var saysEmpty: Bool {
        hasNoBody || fields.first("Content-Length").map { FieldRules.trimmed($0[...]) == "0" } ?? false
    }

    /// The request in messages: the URL without query, fragment and user, which may hold secrets.
    package var shown: String { url.isEmpty ? method : "\(method) \(Self.bare(url))" }

    private static func bare(_ url: String) -> String {
        var bare = Substring(url.unicodeScalars.prefix { $0 != "?" && $0 != "#" })
        if let scheme = bare.utf8.firstRange(of: "://".utf8) {
            let start = scheme.upperBound
            let authority = bare[start...].utf8.prefix { $0 != UInt8(ascii: "/") }
            if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
                bare = bare[..<start] + bare[bare.utf8.index(after: at)...]
            }
        }
        return bare.utf8.count > 300 ? "\(bare.prefix(297))…" : String(bare)
    }
}
