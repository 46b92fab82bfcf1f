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

    /// The message with the path of a nested member, as "serialize.as must be …" for a complaint that begins with "as",
    /// with the path as the subject of a complaint without one, and with the closest known name for an unknown member.
    private static func sentence(_ complaint: JSONComplaint) -> String {
        let path = complaint.pointer.names
        let lacksSubject = complaint.message.hasPrefix("must ") || complaint.message.hasPrefix("names ")
        guard let name = path.last else { return (lacksSubject ? "params " : "") + complaint.message }
        if lacksSubject, name != "must", name != "names" { return "\(written(path[...])) \(complaint.message)" }
        let parent = written(path.dropLast())
        if let known = complaint.known, complaint.message == "unknown parameter \(name)" {
            let hint = NameSuggestions.of(name, among: known).first.map { " (did you mean \($0)?)" } ?? ""
            return (parent.isEmpty ? complaint.message : "\(parent) has no member \(name)") + hint
        }
        guard !parent.isEmpty, complaint.message.hasPrefix(name + " ") else { return complaint.message }
        return written(path[...]) + complaint.message.dropFirst(name.count)
    }

    /// A path in the notation of programs: `handlers[0].serialize.as`.
    private static func written(_ path: ArraySlice<String>) -> String {
        var text = ""
        for part in path {
            let isIndex = !text.isEmpty && !part.isEmpty && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
            text += isIndex ? "[\(part)]" : text.isEmpty ? part : ".\(part)"
        }
        return text
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
