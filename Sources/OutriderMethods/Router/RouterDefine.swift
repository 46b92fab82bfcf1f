// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Defines an API: its base URL, what its requests share, and its endpoints.
struct RouterDefine: Method {
    static let name = "router.define"

    struct Reply: ObjectShape {
        var record: RouterRecord

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("router", record.handle)
            writer.member("name", record.router.name)
            writer.member("endpoints", record.router.endpoints.map(\.name))
        }
    }

    /// The definition as it was written: it is read away from the event loop.
    struct Params: JSONDecodable, Sendable {
        var json: JSONValue

        init(json: JSONValue) { self.json = json }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONText {
        let record = try await RouterWork.result { budget throws(JSONComplaint) in
            let definition = try RouterDefinition(json: params.json, budget: &budget)
            return RouterRecord(definition.router, isShared: definition.isShared)
        }
        try record.keep(call)
        return await RouterWork.text(Reply(record: record))
    }
}

extension RouterRecord {
    /// Memory of an endpoint beside its text.
    private static let endpointBytes = 768

    /// Puts it into the table of its client, or into the one that the connections of its user share.
    ///
    /// - Parameter document: the memory of the document with the definition; nil for a short one, and for a definition in
    ///   the message.
    func keep(_ call: Call<ClientScope>, _ document: MemoryCharge? = nil) throws(RPCError) {
        if isShared, call.peer.info.transport == .stdio {
            throw RPCError(
                .notPermitted, "shared works on a socket only: a service on stdio has one client",
                data: ["pointer": .string("/shared")])
        }
        let tables = router.endpoints.count &* Self.endpointBytes
        let held: (any PayloadCharge)? = try document == nil ? call.keptMessage() : document
        if let charge = held {
            guard charge.grow(by: tables) else { throw call.scope.noMemory() }
            count(charge)
        } else {
            count(try call.kept(tables))
        }
        try (isShared ? call.scope.share.routers : call.scope.routers).keep(self)
    }
}
