// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// A stub: which requests it is for, and what they get.
package struct StubRule: Sendable {
    /// Nil for every method.
    package var method: String?
    package var url: URLPattern
    /// Decoded pairs that the query must have.
    package var query: [(name: String, value: String)] = []
    /// Fields that the request must have, with these values.
    package var fields: HTTPFields = []
    /// A value that the JSON of the body must contain: members that it has must be equal. Nil for any body.
    package var body: JSONValue?
    /// The stub responds so often; nil for no limit.
    package var times: Int?
    /// The stub responds only after this one has.
    package var after: String?
    /// The stub is for each so many-th of the requests that fit.
    package var every = 1
    /// In order; the last one stays. Not empty.
    package var replies: [StubReply]

    /// Of the bodies of all replies.
    package var bytes: Int {
        replies.reduce(0) { sum, reply in reply.chunks.reduce(sum + reply.body.count) { $0 + $1.bytes.count } }
    }

    package init(url: URLPattern, replies: [StubReply]) {
        self.url = url
        self.replies = replies
    }

    /// Whether the request is one that the stub is for.
    func fits(_ subject: inout StubSubject) -> Bool {
        let request = subject.request
        if let method, method != request.method { return false }
        guard url.fits(request.url) else { return false }
        guard query.isEmpty || subject.hasQuery(query), fields.list.isEmpty || subject.hasFields(fields.list) else {
            return false
        }
        guard let body else { return true }
        return subject.json?.contains(body) == true
    }
}

/// A request that is compared with stubs: its parts are read once.
struct StubSubject {
    private struct Pair: Hashable {
        var name: ByteText
        var value: ByteText

        init(_ name: String, _ value: String) { (self.name, self.value) = (ByteText(name), ByteText(value)) }
    }

    let request: ReplayRequest
    lazy var json = try? JSONParser.parse(request.body)
    private lazy var query = QueryPairs.of(request.url).map { Pair($0.name, $0.value) }
    private lazy var queryPairs = Set(query)
    private lazy var fieldPairs = Set(
        request.fields.list.map { Pair(HTTPFields.key($0.name), $0.value) })

    /// As many are searched for one by one.
    private static let few = 16

    init(_ request: ReplayRequest) { self.request = request }

    /// Whether the query has all these pairs.
    mutating func hasQuery(_ wanted: [(name: String, value: String)]) -> Bool {
        if wanted.count <= Self.few {
            let query = query
            return wanted.allSatisfy { query.contains(Pair($0.name, $0.value)) }
        }
        let pairs = queryPairs
        return wanted.allSatisfy { pairs.contains(Pair($0.name, $0.value)) }
    }

    /// Whether the request has all these fields.
    mutating func hasFields(_ wanted: [HTTPFields.Field]) -> Bool {
        if wanted.count <= Self.few {
            return wanted.allSatisfy { wanted in
                request.fields.all(wanted.name).contains { ByteText($0) == ByteText(wanted.value) }
            }
        }
        let pairs = fieldPairs
        return wanted.allSatisfy { pairs.contains(Pair(HTTPFields.key($0.name), $0.value)) }
    }
}

/// What a request gets: a response, a failure, or a response that fails.
package struct StubReply: Sendable {
    package struct Chunk: Sendable {
        /// Seconds since the piece before it, or since the head.
        package var after: Double
        package var bytes: ArraySlice<UInt8>

        package init(after: Double, _ bytes: ArraySlice<UInt8>) {
            self.after = after
            self.bytes = bytes
        }
    }

    package var status = 200
    package var fields: HTTPFields = []
    package var body: [UInt8] = []
    /// In place of the body, if there are any.
    package var chunks: [Chunk] = []
    package var trailers: HTTPFields = []
    /// Seconds before the head.
    package var delay = 0.0
    package var fault: Fault?

    package init() {}
}

/// A failure that a stub stages. It has the code of the real one.
package enum Fault: Sendable, Equatable {
    case nameNotFound, refused, tls, malformed, offline
    /// The connection is lost: before the response, or after so many bytes of its body.
    case lost(after: Int?)
    /// The body ends after so many bytes.
    case truncated(after: Int)
    /// - Parameter isReal: the request waits as long as its timeout says; else it fails at once.
    case timeout(HTTPFailure.Phase, isReal: Bool)
    /// The body comes at this rate.
    case slow(bytesPerSecond: Int)
}

extension JSONValue {
    /// Whether a value has everything that another one has: of objects each member, of arrays equal elements.
    func contains(_ other: JSONValue) -> Bool {
        switch (self, other) {
        case (.object(let mine), .object(let wanted)):
            wanted.members.allSatisfy { member in mine[member.name].map { $0.contains(member.value) } ?? false }
        case (.array(let mine), .array(let wanted)):
            mine.count == wanted.count && zip(mine, wanted).allSatisfy { $0.contains($1) }
        default: isSame(as: other)
        }
    }

    /// Whether two values mean the same: 1, 1.0 and 1e0 do, and so do objects in another order.
    func isSame(as other: JSONValue) -> Bool {
        switch (self, other) {
        case (.object(let one), .object(let two)):
            one.members.count == two.members.count
                && one.members.allSatisfy { member in two[member.name].map { $0.isSame(as: member.value) } ?? false }
        case (.array(let one), .array(let two)):
            one.count == two.count && zip(one, two).allSatisfy { $0.isSame(as: $1) }
        case (.integer(let one), .integer(let two)): one == two
        default:
            if let one = canonicalNumber, let two = other.canonicalNumber { one == two } else { self == other }
        }
    }

    /// One text for each number: of integers every digit counts, also of those that a Double rounds. Nil for other values.
    var canonicalNumber: String? {
        guard let number else { return nil }
        if let integer { return "\(integer)" }
        if case .written(let text) = self, text.utf8.allSatisfy({ $0 < 0x3A && $0 != UInt8(ascii: ".") }) {
            return text
        }
        return "\(number)"
    }
}
