// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Lists requests, oldest first.
struct RequestList: Method {
    static let name = "request.list"

    enum Reach: String, Sendable, CaseIterable { case connection, detached, all }

    struct Params: JSONDecodable {
        var scope: Reach
        var state: RequestPhase?
        var tag: String?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            scope = try fields.choice("scope") ?? .connection
            state = try fields.choice("state")
            tag = try fields.optional("tag")
            try fields.finish()
        }
    }

    /// The requests that a loop lists within a millisecond.
    private static let mostOnLoop = 100

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONText {
        var records: [RequestRecord] = []
        if params.scope != .detached { records += call.scope.handles.all() }
        // a connection lists the requests that it made or adopted; a client must know the handle or the name of any
        // other
        if params.scope != .connection {
            let owner = call.scope.owner
            records += call.scope.share.handles.all(RequestRecord.self).filter { owner.shares($0.handle.name) }
        }
        let (found, scope) = (records, call.scope)
        if found.count <= mostOnLoop { return list(found, params, scope) }
        return await background { list(found, params, scope) }
    }

    private static func list(_ records: [RequestRecord], _ params: Params, _ scope: ClientScope) -> JSONText {
        var records = records
        if let tag = params.tag { records.removeAll { $0.tag.map(ByteText.init) != ByteText(tag) } }
        records.sort { $0.exchange.number < $1.exchange.number }
        var requests = records.map { RequestInfoShape($0, for: scope) }
        if let state = params.state { requests.removeAll { $0.snapshot.phase != state } }
        return JSONText(of: ReplyMembers { $0.member("requests", requests) })
    }
}
