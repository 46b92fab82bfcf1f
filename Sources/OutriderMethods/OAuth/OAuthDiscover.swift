// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Asks an authorization server what it says of itself; or a resource, which names its server.
struct OAuthDiscover: Method {
    static let name = "oauth.discover"

    struct Params: JSONDecodable {
        enum Place: Sendable {
            case issuer(String)
            case resource(String)
        }

        var place: Place
        /// Ask, though it is known.
        var isFresh: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let issuer: String? = try fields.optional("issuer")
            let resource: String? = try fields.optional("resource")
            isFresh = try fields.optional("fresh") ?? false
            try fields.finish()
            switch (issuer, resource) {
            case (let issuer?, nil): place = .issuer(issuer)
            case (nil, let resource?): place = .resource(resource)
            default: throw JSONComplaint("must have exactly one of issuer and resource")
            }
        }
    }

    struct Result: ObjectShape {
        var found: PublishedMetadata
        /// What led to that server.
        var resource: ResourceMetadata?

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("issuer", found.metadata.issuer)
            writer.member("url", found.place.description)
            writer.member("metadata", JSONValue.object(found.metadata.document))
            writer.member("resource", resource.map { JSONValue.object($0.document) })
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        do throws(OAuthFailure) {
            let (documents, stage) = (call.scope.service.documents, call.scope.tokenStage)
            switch params.place {
            case .issuer(let issuer):
                return Result(
                    found: try await documents.metadata(of: issuer, fresh: params.isFresh, through: stage))
            case .resource(let name):
                let resource = try await documents.resource(name, through: stage)
                // it prefers the first one, and there is one
                let issuer = resource.servers.first ?? ""
                return Result(
                    found: try await documents.metadata(of: issuer, fresh: params.isFresh, through: stage),
                    resource: resource)
            }
        } catch {
            try Task.checkCancellation()
            throw RPCError(error)
        }
    }
}
