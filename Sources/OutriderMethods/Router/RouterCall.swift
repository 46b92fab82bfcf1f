// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// A call of an endpoint: which, with what, and what is different this time.
struct RouterCall: LongParams {
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
    ///
    /// Made at once if that is little work, else away from the event loop: a short schema may take millions of steps, and
    /// a few overrides megabytes.
    func request(_ call: Call<ClientScope>) async throws(RPCError) -> RequestParameters {
        let record = try call.scope.routers.find(router)
        let (router, endpoint) = (record.router, try record.endpoint(endpoint))
        if !call.isLong, let spec = atOnce(router, endpoint) { return try made(spec, endpoint) }
        return try await call.scope.compute { () throws(RPCError) in
            let spec: JSONObject
            do throws(HTTPFailure) {
                spec = try RouterRequest.build(router, endpoint, params: params, overrides: overrides)
            } catch {
                throw RPCError(error)
            }
            return try made(spec, endpoint)
        }
    }

    /// Values of the parameters, their defaults and the overrides that are put together on the event loop.
    private static let fewValues = 128
    /// Bytes of their names and texts.
    private static let fewBytes = 64 << 10

    /// Nil if there is more work, or the parameters do not fit.
    private func atOnce(_ router: RouterSpec, _ endpoint: RouterEndpoint) -> JSONObject? {
        var room = JSONRoom(values: Self.fewValues, bytes: Self.fewBytes)
        for part in [params, overrides, endpoint.paramDefaults, endpoint.options, router.defaults] {
            guard room.holds(.object(part)) else { return nil }
        }
        var limits = SchemaLimits()
        limits.steps = 2000
        return try? RouterRequest.build(router, endpoint, params: params, overrides: overrides, limits: limits)
    }

    private static let members: Set = ["router", "endpoint", "params", "overrides"]

    private var places: EndpointPlaces {
        EndpointPlaces(overrides: overrides.members.map(\.name), hasParams: !params.isEmpty)
    }

    /// The error of a method that took the request, with a pointer into this call.
    func located(_ error: any Error) -> any Error {
        guard var told = error as? RPCError, let text = told.data?["pointer"]?.string else { return error }
        let pointer = JSONPointer(canonical: text)
        guard let member = pointer.names.first, !Self.members.contains(member) else { return error }
        told.data?["pointer"] = .string(places.place(of: pointer).description)
        return told
    }

    private func made(_ spec: JSONObject, _ endpoint: RouterEndpoint) throws(RPCError) -> RequestParameters {
        let places = places
        do throws(JSONComplaint) {
            var request = try RequestParameters(json: .object(spec))
            request.places = places
            return request
        } catch {
            throw RPCError(
                JSONComplaint(
                    "\(endpoint.name) makes a request that cannot be sent: \(error.message)",
                    at: places.place(of: error.pointer)))
        }
    }
}
