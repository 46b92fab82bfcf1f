// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Exports requests as an HTTP Archive, in the result or in a file.
struct HARExport: Method {
    static let name = "har.export"

    /// The most requests in an archive: as many ended calls as a connection keeps.
    static let mostRequests = 256
    /// Longer bodies are left out of an archive.
    static let longestBody = 1 << 20
    /// The most bytes of bodies in an archive; further bodies are left out. An archive in a result is a single message.
    static let mostBodies = (inResult: 4 << 20, inFile: 64 << 20)

    struct Params: JSONDecodable {
        var requests: [Handle<RequestRecord>]?
        var recent: Int
        var session: SessionReference?
        var path: String?
        var replace: Bool
        var showsBodies: Bool
        var redaction: Redaction

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            requests = try fields.optional("requests")
            recent = try fields.integer("recent", in: 1...mostRequests) ?? mostRequests
            session = try fields.optional("session")
            path = try fields.optional("path")
            replace = try fields.optional("replace") ?? false
            showsBodies = try fields.optional("bodies") ?? false
            redaction = try fields.optional("secrets") == true ? .none : .masked
            try fields.finish()
            if let requests, requests.count > mostRequests {
                throw JSONComplaint("requests may hold at most \(mostRequests)", at: JSONPointer(member: "requests"))
            }
        }
    }

    enum Result: ObjectShape {
        case inline(JSONText, entries: Int)
        case file(String, size: Int, entries: Int)

        func encodeMembers(to writer: inout JSONWriter) {
            switch self {
            case .inline(let har, let entries):
                writer.member("entries", entries)
                writer.member("har", har)
            case .file(let path, let size, let entries):
                writer.member("entries", entries)
                writer.member("path", path)
                writer.member("size", size)
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        if params.requests == nil { await untilResponded(call.scope) }
        let records = try records(params, call.scope)
        for record in records { _ = try record.redaction(params.redaction, for: call.scope) }
        var exchanges: [(facts: ExchangeFacts, started: WallTime)] = []
        var room = params.path == nil ? mostBodies.inResult : mostBodies.inFile
        if !params.showsBodies { room = 0 }
        for record in records {
            let facts = await record.facts(bodyBytes: min(longestBody, room))
            room -= facts.body?.count ?? 0
            exchanges.append((facts, record.exchange.created))
        }
        let bytes = await written(exchanges, params, version: call.scope.control.version)
        if let path = params.path {
            let size = try await save(bytes, to: path, params.replace, call.scope)
            return .file(path, size: size, entries: exchanges.count)
        }
        if let limit = call.peer.terms.maxMessageBytes, bytes.count > limit - 1024 {
            throw RPCError(
                .invalidParams, "the archive of \(bytes.count) bytes is longer than maxMessageBytes: give a path",
                data: ["pointer": .string("/path")])
        }
        return .inline(JSONText(written: bytes), entries: exchanges.count)
    }

    /// The archive, without the secrets of any of its exchanges in all of them.
    private static func written(
        _ exchanges: [(facts: ExchangeFacts, started: WallTime)], _ params: Params, version: String
    ) async -> [UInt8] {
        let (redaction, showsBodies) = (params.redaction, params.showsBodies)
        return await background {
            var mask = ShownMask(redaction)
            mask.learn(exchanges.map(\.facts))
            let shown = mask
            let entries = exchanges.map { facts, started in
                HAREntryShape(facts: facts, started: started, mask: shown, showsBodies: showsBodies)
            }
            return JSONWriter.bytes(of: HARShape(version: version, entries: entries))
        }
    }

    /// Seconds to wait for running calls.
    private static let patience = 1.0

    /// Waits for the requests of earlier calls, so that the archive includes them: for a second, or to their end if the
    /// client has ended its input.
    private static func untilResponded(_ scope: ClientScope) async {
        let running = scope.handles.all(RequestRecord.self).filter { $0.isOfCall && $0.exchange.outcome == nil }
        let deadline = ContinuousClock.now + .seconds(patience)
        for record in running {
            while record.exchange.outcome == nil, scope.hasEndedInput || ContinuousClock.now < deadline {
                do { try await Task.sleep(for: .milliseconds(5)) } catch { return }
            }
        }
    }

    /// The named requests, in their order; else the latest ended requests, of a session or of all, oldest first.
    private static func records(_ params: Params, _ scope: ClientScope) throws(RPCError) -> [RequestRecord] {
        guard let handles = params.requests else {
            var ended = scope.handles.all(RequestRecord.self).filter { $0.exchange.outcome != nil }
            if let reference = params.session {
                let session = try reference.resolved(scope)
                ended = ended.filter { $0.session === session }
            }
            return Array(ended.sorted { $0.exchange.number < $1.exchange.number }.suffix(params.recent))
        }
        var records: [RequestRecord] = []
        for (index, handle) in handles.enumerated() {
            records.append(try scope.handles.find(handle, "requests/\(index)"))
        }
        return records
    }

    private static func save(
        _ bytes: [UInt8], to path: String, _ replace: Bool, _ scope: ClientScope
    ) async throws -> Int {
        do throws(HTTPFailure) {
            let engine = scope.service.engine
            let kept = try await engine.keep(bytes, quota: scope.quota, contentType: "application/json")
            defer { kept?.release() }
            try await kept?.save(to: path, replace: replace)
            return bytes.count
        } catch {
            throw RPCError(error)
        }
    }
}
