// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Says what a router's endpoints are and take.
struct RouterDescribe: Method {
    static let name = "router.describe"

    struct Params: JSONDecodable {
        var router: String
        var endpoint: String?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let router: String? = try fields.optional("router")
            endpoint = try fields.optional("endpoint")
            try fields.finish()
            self.router = try JSONFields.need("router", router)
        }
    }

    struct Reply: ObjectShape {
        var record: RouterRecord
        var endpoints: [RouterEndpoint]

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("router", record.handle)
            writer.member("name", record.router.name)
            writer.member("baseUrl", record.router.baseURL.text)
            writer.member("shared", record.isShared)
            writer.member("source", record.source)
            writer.name("endpoints")
            writer.array { writer in
                for endpoint in endpoints { encode(endpoint, to: &writer) }
            }
            let definitions = record.router.definitions(of: endpoints)
            if !definitions.isEmpty { writer.member("definitions", definitions) }
            if !record.notes.isEmpty { writer.member("notes", record.notes.map(NoteShape.init)) }
        }

        /// Options of requests are left out: they may hold secrets.
        private func encode(_ endpoint: RouterEndpoint, to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("name", endpoint.name)
                writer.member("method", endpoint.method ?? record.router.defaults["method"]?.string ?? "GET")
                writer.member("path", endpoint.path.text)
                writer.member("baseUrl", endpoint.baseURL?.text)
                writer.member("summary", endpoint.summary)
                writer.member("params", endpoint.params)
                if !endpoint.places.isEmpty {
                    writer.member("places") { writer in
                        for (name, place) in endpoint.places.sorted(by: { $0.key < $1.key }) {
                            writer.name(dynamic: name)
                            writer.value(PlaceShape(place: place))
                        }
                    }
                }
                if !endpoint.paramDefaults.isEmpty { writer.member("paramDefaults", endpoint.paramDefaults) }
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONText {
        let record = try call.scope.routers.find(params.router)
        let endpoints = try params.endpoint.map { name throws(RPCError) in [try record.endpoint(name)] }
        return await RouterWork.text(Reply(record: record, endpoints: endpoints ?? record.router.endpoints))
    }
}
