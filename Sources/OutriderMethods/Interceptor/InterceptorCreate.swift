// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Makes an interceptor that requests and sessions can name.
struct InterceptorCreate: Method {
    static let name = "interceptor.create"

    struct Params: JSONDecodable {
        var spec: InterceptorSpec
        var label: String?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            label = try fields.optional("label")
            let spec: InterceptorSpec? = try fields.optional("interceptor")
            try fields.finish()
            self.spec = try JSONFields.need("interceptor", spec)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let record = InterceptorRecord(
            try params.spec.resolved(call, "interceptor"), what: params.spec.kind, label: params.label,
            charge: try call.keptMessage())
        try call.scope.handles.keep(record, as: record.handle)
        return ReplyMembers { $0.member("interceptor", record.handle) }
    }
}
