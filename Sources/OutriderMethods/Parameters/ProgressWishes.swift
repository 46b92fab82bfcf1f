// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// What a request says of progress, beside the events that it asks for.
struct ProgressWishes: Sendable {
    var expectedSize: Int64?
    /// The Language Server Protocol's token: `$/progress` is told under it.
    var workDoneToken: ProgressToken?
    /// The Model Context Protocol's token, in `_meta`: `notifications/progress` is told under it.
    var progressToken: ProgressToken?

    init() {}

    init(_ fields: inout JSONFields) throws(JSONComplaint) {
        expectedSize = try fields.integer("expectedSize", in: 0...9_007_199_254_740_992).map { Int64($0) }
        workDoneToken = try fields.optional("workDoneToken")
        // what stands in _meta is a library's doing, and never a reason to refuse a call
        if let token = fields.all["_meta"]?.object?["progressToken"] { progressToken = try? ProgressToken(json: token) }
    }

    var isEmpty: Bool { workDoneToken == nil && progressToken == nil }
}

/// A name that a client gave to some work: a string, or an integer.
enum ProgressToken: Sendable, Equatable, JSONDecodable, JSONEncodable {
    case text(String)
    case number(Int64)

    init(json: JSONValue) throws(JSONComplaint) {
        switch json {
        case .string(let text) where text.utf8.count <= 256: self = .text(text)
        case .string: throw JSONComplaint("must have at most 256 characters")
        default:
            guard let number = json.integer else { throw JSONComplaint("must be a string or an integer") }
            // beyond that, clients that know no integers would not know their token again
            guard number.magnitude <= 9_007_199_254_740_992 else {
                throw JSONComplaint("must be an integer of at most 2^53")
            }
            self = .number(number)
        }
    }

    func encode(to writer: inout JSONWriter) {
        switch self {
        case .text(let text): writer.value(text)
        case .number(let number): writer.value(number)
        }
    }
}
