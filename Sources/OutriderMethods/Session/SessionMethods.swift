// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// The params of a method that is about one session, the default one unless it is named.
struct SessionParams: JSONDecodable {
    var session: SessionReference?

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        session = try fields.optional("session")
        try fields.finish()
    }
}

/// Tells how a session stands.
struct SessionGet: Method {
    static let name = "session.get"

    static func call(_ params: SessionParams, _ call: Call<ClientScope>) async throws -> SessionInfoShape {
        SessionInfoShape(try params.session?.resolved(call.scope), call.scope)
    }
}

/// Lists the default session, this client's own, and the shared ones.
struct SessionList: Method {
    static let name = "session.list"

    struct Result: JSONEncodable {
        var sessions: [SessionInfoShape]

        func encode(to writer: inout JSONWriter) { writer.object { $0.member("sessions", sessions) } }
    }

    static func call(_ params: NoParams, _ call: Call<ClientScope>) async throws -> Result {
        let scope = call.scope
        var records = scope.handles.all(SessionRecord.self) + scope.share.handles.all(SessionRecord.self)
        records.sort { ($0.label ?? "", $0.handle.name) < ($1.label ?? "", $1.handle.name) }
        return Result(
            sessions: [SessionInfoShape(nil, scope)] + records.map { SessionInfoShape($0, scope) })
    }
}

/// Changes a session for the requests that are made from now on; limits hold at once.
struct SessionUpdate: Method {
    static let name = "session.update"

    struct Params: JSONDecodable {
        var session: SessionReference
        var changes: SessionParameters

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let session: SessionReference? = try fields.optional("session")
            changes = try SessionParameters(&fields)
            try fields.finish()
            self.session = try JSONFields.need("session", session)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> SessionInfoShape {
        let record = try SessionRecord.own(params.session, call.scope)
        var settings = record.settings
        try params.changes.apply(to: &settings, isShared: record.isShared, call)
        try await params.changes.openJar(for: &settings, title: record.title, call)
        record.update(settings, replacesCredentials: params.changes.hasCredentials)
        record.tell(.sessionUpdated, call.scope.owner)
        return SessionInfoShape(record, call.scope)
    }
}

/// To how many requests of a session something was done, and what.
struct SessionCount: JSONEncodable {
    private let deed: StaticString
    private let count: Int

    init(_ deed: StaticString, _ count: Int) {
        self.deed = deed
        self.count = count
    }

    func encode(to writer: inout JSONWriter) { writer.object { $0.member(deed, count) } }
}

/// Cancels every request of a session, and waits until they are over.
struct SessionCancelAll: Method {
    static let name = "session.cancelAll"

    /// Seconds; a client that does not take its events may hold up their ends.
    private static let patience = 5.0

    static func call(_ params: SessionParams, _ call: Call<ClientScope>) async throws -> SessionCount {
        let exchanges = SessionRecord.exchanges(try params.session?.resolved(call.scope), call.scope)
        for exchange in exchanges { exchange.cancel() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for exchange in exchanges { _ = await exchange.reached(.finish) } }
            group.addTask { try? await Task.sleep(for: .seconds(patience)) }
            _ = await group.next()
            group.cancelAll()
        }
        return SessionCount("cancelled", exchanges.count)
    }
}

/// Holds up every request of a session.
struct SessionSuspendAll: Method {
    static let name = "session.suspendAll"

    static func call(_ params: SessionParams, _ call: Call<ClientScope>) async throws -> SessionCount {
        let exchanges = SessionRecord.exchanges(try params.session?.resolved(call.scope), call.scope)
        for exchange in exchanges { exchange.suspend() }
        return SessionCount("suspended", exchanges.count { $0.snapshot.phase == .suspended })
    }
}

/// Lets every request of a session go on, or start.
struct SessionResumeAll: Method {
    static let name = "session.resumeAll"

    static func call(_ params: SessionParams, _ call: Call<ClientScope>) async throws -> SessionCount {
        let exchanges = SessionRecord.exchanges(try params.session?.resolved(call.scope), call.scope)
        for exchange in exchanges { exchange.resume() }
        return SessionCount("resumed", exchanges.count)
    }
}

/// Closes the connections that lie idle. They are shared by all sessions, so it does not matter by which one it is asked.
struct SessionFlush: Method {
    static let name = "session.flush"

    static func call(_ params: SessionParams, _ call: Call<ClientScope>) async throws -> JSONNothing {
        let record = try params.session?.resolved(call.scope)
        call.scope.service.flush()
        let subject = MonitorSubject(session: record?.title, owner: call.scope.owner)
        call.scope.service.monitors.tell(.sessionFlushed, subject) { .nothing }
        return JSONNothing()
    }
}

/// Ends a session.
struct SessionClose: Method {
    static let name = "session.close"

    struct Params: JSONDecodable {
        var session: SessionReference
        /// Otherwise its requests go on.
        var cancels: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let session: SessionReference? = try fields.optional("session")
            cancels = try fields.optional("cancel") ?? true
            try fields.finish()
            self.session = try JSONFields.need("session", session)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONNothing {
        let scope = call.scope
        let record = try SessionRecord.own(params.session, scope)
        if let name = record.label {
            (record.isShared ? scope.share.sessions : scope.sessions).remove(record, as: name)
        }
        scope.handles.remove(record.handle)
        if params.cancels {
            record.session.close(HTTPFailure(.sessionInvalidated, "the session was closed"))
        }
        record.tell(.sessionClosed, scope.owner)
        return JSONNothing()
    }
}
