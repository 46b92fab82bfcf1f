// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// A request's progress tokens, beside the events that the request chose.
struct ProgressOptions: Sendable {
    var expectedSize: Int64?
    /// The Language Server Protocol's token for `$/progress`.
    var workDoneToken: ProgressToken?
    /// The Model Context Protocol's token, in `_meta`, for `notifications/progress`.
    var progressToken: ProgressToken?

    init() {}

    init(_ fields: inout JSONFields) throws(JSONComplaint) {
        expectedSize = try fields.integer("expectedSize", in: 0...9_007_199_254_740_992).map { Int64($0) }
        workDoneToken = try fields.optional("workDoneToken")
        // libraries set _meta on their own: an invalid token is never a reason to refuse a call
        if let token = fields.all["_meta"]?.object?["progressToken"] { progressToken = try? ProgressToken(json: token) }
    }

    var isEmpty: Bool { workDoneToken == nil && progressToken == nil }
}

/// A client's name for a task: a string, or an integer.
enum ProgressToken: Sendable, Equatable, JSONDecodable, JSONEncodable {
    case text(String)
    case number(Int64)

    init(json: JSONValue) throws(JSONComplaint) {
        switch json {
        case .string(let text) where text.utf8.count <= 256: self = .text(text)
        case .string: throw JSONComplaint("must have at most 256 characters")
        default:
            guard let number = json.integer else { throw JSONComplaint("must be a string or an integer") }
            // clients without integers would not recognize larger numbers
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
