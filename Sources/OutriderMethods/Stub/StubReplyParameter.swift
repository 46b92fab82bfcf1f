// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// A StubReply of the contract; a file that it names is read later.
struct StubReplyParameter: JSONDecodable {
    private var reply = StubReply()
    private var file: String?

    private static let mostChunks = 10_000
    private static let mostBytes = 64 << 20

    /// A reply that is a failure alone.
    init(fault: FaultParameter) { reply.fault = fault.fault }

    init(json: JSONValue) throws(JSONComplaint) {
        if json.array != nil { throw JSONComplaint("must be an object, not an array") }
        var fields = try JSONFields(json)
        let present = fields.present(["text", "json", "base64", "file", "chunks"])
        if let status = try fields.integer("status", in: 200...599) { reply.status = status }
        if let given: FieldsParameter = try fields.optional("headers") { reply.fields = try given.checked("headers") }
        if let text: String = try fields.optional("text") { reply.body = Array(text.utf8) }
        if let json = fields.value("json") {
            reply.body = JSONWriter.bytes(of: json)
            if !reply.fields.contains("Content-Type") { reply.fields.add("Content-Type", "application/json") }
        }
        if let base64: String = try fields.optional("base64") { reply.body = try Base64Parameter.bytes(base64) }
        file = try fields.optional("file") { (path: String) in path.hasPrefix("/") ? nil : "must be absolute" }
        let chunks: [ChunkParameter]? = try fields.optional("chunks") { (list: [ChunkParameter]) in
            list.count > Self.mostChunks ? "must not hold more than \(Self.mostChunks)" : nil
        }
        reply.chunks = chunks?.map(\.chunk) ?? []
        reply.delay = try fields.number("delay", in: 0...86400) ?? 0
        if let given: FieldsParameter = try fields.optional("trailers") {
            reply.trailers = try given.checked("trailers")
        }
        reply.fault = try fields.optional("fault", as: FaultParameter.self)?.fault
        try fields.finish()
        if present.count > 1 { throw JSONComplaint("must have at most one of text, json, base64, file and chunks") }
    }

    /// The reply with the bytes of its file. The pointer leads to the reply.
    func made(_ quota: BodyQuota, pointer: String) async throws(RPCError) -> StubReply {
        guard let file else { return reply }
        var reply = reply
        do throws(HTTPFailure) {
            reply.body = try await CookieFile.read(file, limit: Self.mostBytes, for: quota)
        } catch {
            throw RPCError(error, at: pointer + "/file")
        }
        if !reply.fields.contains("Content-Type"), let type = Optional(MediaTypes.type(ofFileNamed: file)) {
            reply.fields.add("Content-Type", type)
        }
        return reply
    }
}

/// A StubChunk of the contract.
private struct ChunkParameter: JSONDecodable {
    var chunk: StubReply.Chunk

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let after = try fields.number("after", in: 0...86400) ?? 0
        let text: String? = try fields.optional("text")
        let base64: String? = try fields.optional("base64")
        try fields.finish()
        guard (text == nil) != (base64 == nil) else {
            throw JSONComplaint("must have exactly one of text and base64")
        }
        if let text {
            chunk = StubReply.Chunk(after: after, Array(text.utf8)[...])
        } else {
            chunk = StubReply.Chunk(after: after, try Base64Parameter.bytes(base64 ?? "")[...])
        }
    }
}

/// The `fault` of a stub: a word, or a StubFault.
struct FaultParameter: JSONDecodable {
    var fault: Fault

    private enum Word: String, CaseIterable {
        case nameNotFound, refused, lost, timeout, tls, malformed, offline
    }

    private enum Phase: String, CaseIterable {
        case resolve, connect, tls, request, firstByte, response, total
    }

    init(json: JSONValue) throws(JSONComplaint) {
        if let text = json.string {
            guard let word = Word(rawValue: text) else {
                let known = Word.allCases.map(\.rawValue).joined(separator: ", ")
                throw JSONComplaint("must be one of \(known), or an object, not \(FieldRules.shown(text))")
            }
            fault = Self.fault(word)
            return
        }
        guard json.object != nil || json.array?.isEmpty == true else {
            throw JSONComplaint("must be a string or an object, not \(json.typeName)")
        }
        var fields = try JSONFields(json)
        let lost = try fields.integer("lost", in: 0...67_108_864)
        let truncated = try fields.integer("truncated", in: 0...67_108_864)
        let phase: Phase? = try fields.choice("timeout")
        let isReal: Bool? = try fields.optional("real")
        let slow = try fields.integer("slow", in: 1...1_073_741_824)
        try fields.finish()
        let present = [lost != nil, truncated != nil, phase != nil, slow != nil].count { $0 }
        guard present == 1 else { throw JSONComplaint("must have exactly one of lost, truncated, timeout and slow") }
        if let lost {
            fault = .lost(after: lost)
        } else if let truncated {
            fault = .truncated(after: truncated)
        } else if let slow {
            fault = .slow(bytesPerSecond: slow)
        } else {
            let phase = phase.flatMap { HTTPFailure.Phase(rawValue: $0.rawValue) }
            fault = .timeout(phase ?? .firstByte, isReal: isReal ?? false)
        }
    }

    private static func fault(_ word: Word) -> Fault {
        switch word {
        case .nameNotFound: .nameNotFound
        case .refused: .refused
        case .lost: .lost(after: nil)
        case .timeout: .timeout(.firstByte, isReal: false)
        case .tls: .tls
        case .malformed: .malformed
        case .offline: .offline
        }
    }
}
