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

    struct Result: JSONEncodable {
        var interceptor: Handle<InterceptorRecord>

        func encode(to writer: inout JSONWriter) { writer.object { $0.member("interceptor", interceptor) } }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let record = InterceptorRecord(
            try params.spec.resolved(call), what: params.spec.kind, label: params.label)
        try call.scope.handles.keep(record, as: record.handle)
        return Result(interceptor: record.handle)
    }
}

/// Lists this client's interceptors, without their secrets.
struct InterceptorList: Method {
    static let name = "interceptor.list"

    struct Result: JSONEncodable {
        var interceptors: [InterceptorRecord]

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.name("interceptors")
                writer.array { writer in
                    for record in interceptors {
                        writer.object { writer in
                            writer.member("interceptor", record.handle)
                            writer.member("kind", record.what.rawValue)
                            writer.member("label", record.label)
                        }
                    }
                }
            }
        }
    }

    static func call(_ params: NoParams, _ call: Call<ClientScope>) async throws -> Result {
        let records = call.scope.handles.all(InterceptorRecord.self)
        return Result(
            interceptors: records.sorted { ($0.label ?? "", $0.handle.name) < ($1.label ?? "", $1.handle.name) })
    }
}

/// Forgets an interceptor. Requests and sessions that have it keep it.
struct InterceptorDelete: Method {
    static let name = "interceptor.delete"

    struct Params: JSONDecodable {
        var interceptor: Handle<InterceptorRecord>

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let interceptor: Handle<InterceptorRecord>? = try fields.optional("interceptor")
            try fields.finish()
            self.interceptor = try JSONFields.need("interceptor", interceptor)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONNothing {
        _ = try call.scope.handles.find(params.interceptor, "interceptor")
        call.scope.handles.remove(params.interceptor)
        return JSONNothing()
    }
}
