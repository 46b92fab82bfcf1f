// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// A call of an endpoint: which, with what, and what is different this time.
struct RouterCall: JSONDecodable {
    var router: String
    var endpoint: String
    var params: JSONObject
    var overrides: JSONObject

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let router: String? = try fields.optional("router")
        let endpoint: String? = try fields.optional("endpoint")
        params = try fields.optional("params") ?? [:]
        let overrides: RequestOptions? = try fields.optional("overrides")
        self.overrides = overrides?.object ?? [:]
        try fields.finish()
        self.router = try JSONFields.need("router", router)
        self.endpoint = try JSONFields.need("endpoint", endpoint)
    }

    /// The request that it means. Throws 2100 to 2102 as invalidParams, for nothing has been sent.
    func request(_ scope: ClientScope) async throws(RPCError) -> RequestParameters {
        let record = try scope.routers.find(router)
        let endpoint = try record.endpoint(endpoint)
        let spec = try await spec(record.router, endpoint, for: scope.quota.client)
        do throws(JSONComplaint) {
            return try RequestParameters(json: .object(spec))
        } catch {
            throw RPCError(
                JSONComplaint(
                    "\(endpoint.name) makes a request that cannot be sent: \(error.message)", at: place(of: error)))
        }
    }

    /// Members of the parameters, their defaults and the overrides that are put together on the event loop.
    private static let fewMembers = 64

    /// At once if that is little work, else away from the event loop: a short schema may take millions of steps.
    private func spec(
        _ router: RouterSpec, _ endpoint: RouterEndpoint, for client: ClientKey
    ) async throws(RPCError) -> JSONObject {
        let count = [params, overrides, endpoint.paramDefaults, router.defaults].reduce(0) { $0 + $1.members.count }
        if count <= Self.fewMembers {
            var limits = SchemaLimits()
            limits.steps = 2000
            let built = try? RouterRequest.build(router, endpoint, params: params, overrides: overrides, limits: limits)
            if let built { return built }
        }
        do throws(HTTPFailure) {
            return try await compute(for: client) { () throws(HTTPFailure) in
                try RouterRequest.build(router, endpoint, params: params, overrides: overrides)
            }
        } catch {
            throw RPCError(error)
        }
    }

    /// Where a complaint about the request lies in the call.
    private func place(of complaint: JSONComplaint) -> JSONPointer {
        guard let member = complaint.pointer.names.first else { return JSONPointer(member: "endpoint") }
        if overrides[member] != nil { return JSONPointer(member: "overrides").appending(complaint.pointer) }
        return JSONPointer(member: params.isEmpty ? "endpoint" : "params")
    }
}
