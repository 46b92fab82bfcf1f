// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Changes a session for later requests; limits apply at once.
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
        let charge = try call.keptMessage()
        let old = record.settings.plan
        var settings = record.settings
        try params.changes.apply(to: &settings, isShared: record.isShared, call)
        try await params.changes.openJar(for: &settings, title: record.title, call)
        try await params.changes.openStrictTransport(for: &settings, call)
        record.count(charge)
        record.update(settings, replacesCredentials: params.changes.hasCredentials)
        if let old, old !== settings.plan {
            let service = call.scope.service
            service.retire(old, settings.plan ?? service.engine.settings.security)
        }
        record.tell(.sessionUpdated, call.scope.owner)
        return SessionInfoShape(record, call.scope)
    }
}
