// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Ends a session.
struct SessionClose: Method {
    static let name = "session.close"

    struct Params: JSONDecodable {
        var session: SessionReference
        /// Whether to cancel the running requests, which otherwise continue.
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
        await record.stage.current?.tape?.stop()
        record.tell(.sessionClosed, scope.owner)
        return JSONNothing()
    }
}
