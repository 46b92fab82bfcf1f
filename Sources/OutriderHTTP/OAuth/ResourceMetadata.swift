// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// The metadata of a protected resource (RFC 9728 section 2), validated: the resource matches the request, and the
/// authorization servers are valid.
package struct ResourceMetadata: Sendable, Equatable {
    /// As requested, character by character (RFC 9728 section 3.3).
    package let resource: String
    /// The issuers of accepted tokens, in the resource's order of preference.
    package let servers: [String]
    /// The complete document.
    package let document: JSONObject

    /// The most servers in valid metadata.
    private static let mostServers = 64

    private static let lists = [
        "bearer_methods_supported", "resource_signing_alg_values_supported", "scopes_supported",
    ]

    /// Throws `config` with the name of the malformed member.
    package init(_ bytes: [UInt8], resource: String) throws(OAuthFailure) {
        guard bytes.count <= ServerMetadata.longest,
            case .object(let members)? = try? JSONParser.parse(bytes, limits: .small)
        else { throw Self.fault(resource, "is no JSON object, or too long") }
        guard let said = members["resource"]?.string, said.utf8.elementsEqual(resource.utf8) else {
            let other = members["resource"]?.string.map { FieldRules.shown($0) } ?? "nothing"
            throw OAuthFailure(
                .config, "resource_mismatch",
                "the metadata are of \(other), expected \(FieldRules.shown(resource))")
        }
        guard let list = members["authorization_servers"]?.array, !list.isEmpty, list.count <= Self.mostServers else {
            throw Self.fault(resource, "names no authorization_servers")
        }
        var servers: [String] = []
        for value in list {
            guard let issuer = value.string, (try? ServerMetadata.places(of: issuer)) != nil else {
                throw Self.fault(resource, "has authorization_servers that are no issuers")
            }
            servers.append(issuer)
        }
        for name in Self.lists where !members.listsTexts(name) {
            throw Self.fault(resource, "has \(name) that is no list of strings")
        }
        self.resource = resource
        self.servers = servers
        document = members
    }

    /// The URL of the metadata (RFC 9728 section 3.1): the well-known part stands between host and path.
    ///
    /// Throws `config` unless the resource is an https URL without a fragment, or an http URL of this machine.
    package static func place(of resource: String) throws(OAuthFailure) -> HTTPURL {
        do throws(HTTPFailure) {
            var url = try HTTPURL(parsing: resource)
            guard url.isFitForAuthorization else {
                throw HTTPFailure(.invalidURL, "it must begin with https://")
            }
            if url.fragment != nil { throw HTTPFailure(.invalidURL, "it must have no fragment") }
            url.target = "/.well-known/oauth-protected-resource" + (url.target == "/" ? "" : url.target)
            return url
        } catch {
            throw OAuthFailure(
                .config, "invalid_resource", "\(FieldRules.shown(resource)) cannot be a resource: \(error.message)")
        }
    }

    private static func fault(_ resource: String, _ what: String) -> OAuthFailure {
        OAuthFailure(.config, "invalid_metadata", "the metadata of \(FieldRules.shown(resource)) \(what)")
    }
}
