// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Greets the service: the client states its needs and limits, and learns the service's. Optional.
struct ServerHello: Method {
    static let name = "server.hello"

    struct Params: JSONDecodable {
        var require: [String]
        var terms: PeerTerms

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            _ = try fields.optional("client", as: SoftwareInfo.self)
            _ = try fields.integer("protocol", in: 1...1000)
            require = try fields.optional("require") ?? []
            _ = try fields.optional("want", as: [String].self)
            terms = PeerTerms()
            terms.callbacks = Set(try fields.optional("callbacks", as: [String].self) ?? [])
            terms.maxMessageBytes = try fields.integer("maxMessageBytes", in: 4096...9_007_199_254_740_992)
            terms.progressInterval = try fields.number("progressInterval", in: 0...3600) ?? terms.progressInterval
            terms.rawBodies = try fields.optional("rawBodies") ?? false
            terms.maxInline = try fields.integer("maxInline", in: 0...8_388_608)
            try fields.finish()
            if terms.maxInline != nil, !terms.rawBodies {
                throw JSONComplaint(
                    "rawBodies must be true with maxInline, which is for such replies alone: set rawBodies, or give "
                        + "maxInline with each request", at: JSONPointer(member: "rawBodies"))
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Greeting {
        for (index, feature) in params.require.enumerated() where !Features.contains(feature) {
            let near = NameSuggestions.of(feature, among: Features.names.map(\.description)).first
            let remedy =
                near.map { "did you mean \($0)?" } ?? "use a newer version, or leave the feature out of require"
            throw RPCError(
                .featureMissing, "the required feature \(feature.excerpt) is unknown to this version (\(remedy))",
                data: ["pointer": .string("/require/\(index)"), "feature": .string(feature.excerpt)])
        }
        call.peer.agree(to: params.terms)
        return Greeting(call)
    }
}

/// The service's reply.
struct Greeting: ObjectShape {
    var server: SoftwareInfo
    var limits: Limits
    var connection: String

    init(_ call: Call<ClientScope>) {
        let control = call.scope.control
        server = SoftwareInfo(name: control.name, version: control.version)
        limits = Limits(call.scope)
        connection = call.peer.info.connection
    }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("server", server)
        writer.member("protocol", 1)
        writer.member("protocols", [1])
        writer.member("features", Features())
        writer.member("limits", limits)
        writer.member("connection", connection)
    }
}
