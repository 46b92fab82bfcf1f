// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// The base URL of endpoints' paths.
///
/// Unlike a relative reference (RFC 3986 section 5), a path never replaces the path of the base: `https://x/v1` and
/// `/users` make `https://x/v1/users`, always with a single slash between them. A query of the base stays, before the
/// query of the request.
package struct RouterURL: Sendable, Equatable {
    package let text: String
    private let start: String
    private let query: String?

    /// Throws a complaint about the URL itself.
    package init(_ text: String) throws(JSONComplaint) {
        self.text = text
        do throws(HTTPFailure) {
            _ = try HTTPURL(parsing: text)
        } catch {
            throw JSONComplaint("must be an absolute URL: \(error.message)")
        }
        if text.utf8.contains(UInt8(ascii: "#")) { throw JSONComplaint("must not have a fragment") }
        let mark = text.firstIndex(of: "?")
        var start = text[..<(mark ?? text.endIndex)]
        while start.last == "/" { start.removeLast() }
        self.start = String(start)
        query = mark.map { String(text[text.index(after: $0)...]) }
    }

    func joined(_ path: String) -> String {
        let mark = path.firstIndex(of: "?")
        let plain = path[..<(mark ?? path.endIndex)].drop { $0 == "/" }
        var url = start
        // without a path the base stays as written, including its last slash
        if plain.isEmpty, path.isEmpty {
            url = String(text.prefix { $0 != "?" })
        } else {
            url += "/" + plain
        }
        let queries = [query, mark.map { String(path[path.index(after: $0)...]) }].compactMap { $0 }.filter {
            !$0.isEmpty
        }
        return queries.isEmpty ? url : url + "?" + queries.joined(separator: "&")
    }
}
