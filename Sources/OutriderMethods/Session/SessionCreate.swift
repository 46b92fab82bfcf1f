// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Makes a session: settings, interceptors and limits that requests share.
struct SessionCreate: Method {
    static let name = "session.create"

    struct Params: LongParams {
        var label: String?
        var isShared: Bool
        /// Nil for no cassette.
        var replay: ReplayParameter?
        var session: SessionParameters

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            label = try fields.optional("name") { (name: String) in
                if name.isEmpty || name.utf8.count > 256 { return "must have 1 to 256 bytes" }
                if name == SessionReference.defaultName { return "must not be \"default\", which always exists" }
                return name.hasPrefix(HandleKind.session.rawValue) ? "must not look like a handle" : nil
            }
            isShared = try fields.optional("shared") ?? false
            replay = try fields.optional("replay")
            session = try SessionParameters(&fields)
            try fields.finish()
            if isShared && label == nil {
                throw JSONComplaint("a shared session needs a name", at: JSONPointer(member: "name"))
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let scope = call.scope
        var settings = SessionSettings()
        try params.session.apply(to: &settings, isShared: params.isShared, call)
        let charge = try call.keptMessage()
        let handle = Handle<SessionRecord>()
        try await params.session.openJar(for: &settings, title: params.label ?? handle.name, call)
        try await params.session.openStrictTransport(for: &settings, call)
        let tape = try await params.replay?.open(call, pointer: "/replay/path")
        let record = SessionRecord(
            settings, handle, name: params.label, isShared: params.isShared, scope)
        record.count(charge)
        if let tape { _ = record.stage.made(over: scope.service.engine.stage).put(tape) }
        let directory = params.isShared ? scope.share.sessions : scope.sessions
        if let name = params.label, !directory.add(record, as: name) {
            await tape?.stop()
            throw RPCError(
                .wrongState, "there is a session named \(name.excerpt) already: use it, or close it first",
                data: ["pointer": .string("/name"), "state": .string("taken")])
        }
        do throws(RPCError) {
            let owner = params.isShared ? scope.share.handles : scope.handles
            try owner.keep(record, as: record.handle)
        } catch {
            if let name = params.label { directory.remove(record, as: name) }
            await tape?.stop()
            throw error
        }
        record.tell(.sessionCreated, scope.owner)
        call.ifUnwanted { Task { await record.end(in: scope, cancels: true) } }
        return ReplyMembers { $0.member("session", record.handle) }
    }
}
