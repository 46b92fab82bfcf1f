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
        try await SessionRecord.own(params.session, call.scope).end(in: call.scope, cancels: params.cancels)
        return JSONNothing()
    }
}

extension SessionRecord {
    /// Takes the session from its clients.
    ///
    /// - Parameter cancels: whether the running requests end.
    func end(in scope: ClientScope, cancels: Bool) async {
        if let label { (isShared ? scope.share.sessions : scope.sessions).remove(self, as: label) }
        scope.handles.remove(handle)
        if cancels { session.close(HTTPFailure(.sessionInvalidated, "the session was closed")) }
        await stage.current?.tape?.stop()
        tell(.sessionClosed, scope.owner)
    }
}
