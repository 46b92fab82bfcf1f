// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Asks an authorization server what it says of itself.
struct OAuthDiscover: Method {
    static let name = "oauth.discover"

    struct Params: JSONDecodable {
        var issuer: String
        /// Ask, though it is known.
        var isFresh: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let issuer: String? = try fields.optional("issuer")
            isFresh = try fields.optional("fresh") ?? false
            try fields.finish()
            self.issuer = try JSONFields.need("issuer", issuer)
        }
    }

    struct Result: JSONEncodable {
        var found: ServerDocuments.Found

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("issuer", found.metadata.issuer)
                writer.member("url", found.place.description)
                writer.member("metadata", JSONValue.object(found.metadata.document))
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        do throws(OAuthFailure) {
            return Result(
                found: try await call.scope.service.documents.metadata(of: params.issuer, fresh: params.isFresh))
        } catch {
            try Task.checkCancellation()
            throw RPCError(error)
        }
    }
}
