// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// Why a call could not be served. A failed exchange is a result, not an error (protocol D1).
package struct RPCError: Error, Equatable {
    package var code: Int
    /// A complete sentence; some clients show nothing else.
    package var message: String
    package var data: JSONObject?

    package init(_ code: Code, _ message: String, data: JSONObject? = nil) {
        self.init(code: code.rawValue, message, data: data)
    }

    package init(code: Int, _ message: String, data: JSONObject? = nil) {
        self.code = code
        self.message = Excerpt.sentence(message)
        self.data = data
    }

    /// The codes of protocol section 13. A code never changes its meaning.
    package enum Code: Int, Sendable, CaseIterable {
        case parseError = -32700
        case invalidRequest = -32600
        case methodNotFound = -32601
        case invalidParams = -32602
        case internalError = -32603
        case cancelled = -32800
        case messageTooLong = -32010
        case tooMany = -32011
        case unknownHandle = -32012
        case wrongState = -32013
        case notPermitted = -32014
        case featureMissing = -32015
        case clientTooSlow = -32016
        case stopping = -32017
        case noToken = -32018
        case callbackTimedOut = -32020
        case callbackFailed = -32021
        case clientGone = -32022
    }
}

extension RPCError {
    /// An invalid parameter; the pointer is into `params`.
    package init(_ complaint: JSONComplaint) {
        var data: JSONObject = ["pointer": .string(Excerpt.pointer(complaint.pointer.description))]
        if let known = complaint.known { data["known"] = .array(known.map { .string($0) }) }
        self.init(.invalidParams, Self.sentence(complaint), data: data)
    }

    /// The sentence of the complaint, with a correction if the meaning is known.
    private static func sentence(_ complaint: JSONComplaint) -> String {
        guard let name = complaint.pointer.names.last else { return complaint.placed(orUnder: "params") }
        guard let known = complaint.known, complaint.isUnknown(name) else {
            return complaint.placed() + Habits.shape(for: complaint)
        }
        return complaint.placed() + Habits.hint(for: name, among: known)
    }
}

/// Written as at most about 50 KiB, for every message and data.
extension RPCError: JSONEncodable {
    package func encode(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("code", code)
            writer.member("message", message)
            writer.member("data", data.map(ErrorData.shortened))
        }
    }
}
