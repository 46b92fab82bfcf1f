// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
package import OutriderJSON
import OutriderRPC
import Synchronization

/// A router under its handle.
package final class RouterRecord: Holdable {
    package static let kind = HandleKind.router

    let handle = Handle<RouterRecord>()
    let router: RouterSpec
    let isShared: Bool
    /// The file that the router was loaded from; nil if none.
    let source: String?
    /// Parts of the imported document that the router does not have.
    let notes: [ImportNote]
    let moreNotes: Int
    /// The memory of a long definition.
    private let charge = Mutex<(any PayloadCharge)?>(nil)

    init(_ outcome: OpenAPIImport.Outcome, isShared: Bool, source: String? = nil) {
        router = outcome.router
        notes = outcome.notes
        moreNotes = outcome.moreNotes
        self.isShared = isShared
        self.source = source
    }

    init(_ router: RouterSpec, isShared: Bool, source: String? = nil) {
        self.router = router
        self.isShared = isShared
        self.source = source
        notes = []
        moreNotes = 0
    }

    package var isAwaited: Bool { false }

    package func close() {}

    /// Counts the definition for as long as the router exists.
    func count(_ message: (any PayloadCharge)?) { charge.withLock { $0 = message } }

    /// The endpoint, or the failure 2100 with similar names.
    func endpoint(_ name: String) throws(RPCError) -> RouterEndpoint {
        if let endpoint = router.endpoint(name) { return endpoint }
        let near = NameSuggestions.of(name, among: router.endpoints.map(\.name))
        let hint = near.isEmpty ? "router.describe lists them" : "did you mean \(near.joined(separator: " or "))?"
        var error = RPCError(
            HTTPFailure(
                .unknownEndpoint, "the router \(router.name) has no endpoint \(name.prefix(80)): \(hint)",
                pointer: "/endpoint"))
        if !near.isEmpty { error.data?["known"] = .array(near.map { .string($0) }) }
        throw error
    }
}

extension RouterRecord: ObjectShape {
    /// A RouterInfo of the contract, without its endpoints.
    package func encodeMembers(to writer: inout JSONWriter) {
        writer.member("router", handle)
        writer.member("name", router.name)
        writer.member("baseUrl", router.baseURL.text)
        writer.member("shared", isShared)
        writer.member("source", source)
        writer.member("endpoints", router.endpoints.count)
    }
}

/// Routers by name and by handle: a table per connection, a shared table per user, and a table for all users.
package final class RouterTable: Sendable {
    private struct Contents {
        var byName: [ByteText: RouterRecord] = [:]
        var byHandle: [String: RouterRecord] = [:]
    }

    private let contents = Mutex(Contents())
    private let shared: RouterTable?

    package init(shared: RouterTable? = nil) { self.shared = shared }

    /// Keeps the router; replaces a router of the same name. Throws `tooMany`.
    func keep(_ record: RouterRecord) throws(RPCError) {
        let isKept = contents.withLock { contents -> Bool in
            if let old = contents.byName[ByteText(record.router.name)] {
                contents.byHandle[old.handle.name] = nil
            } else if contents.byName.count >= HandleKind.router.limit {
                return false
            }
            contents.byName[ByteText(record.router.name)] = record
            contents.byHandle[record.handle.name] = record
            return true
        }
        if isKept { return }
        throw RPCError(
            .tooMany, "too many routers: there may be \(HandleKind.router.limit); delete some",
            data: ["limit": .integer(Int64(HandleKind.router.limit)), "what": .string(HandleKind.router.limitName)])
    }

    /// The router of a handle or a name; a client's own routers come before shared ones.
    func find(_ reference: String) throws(RPCError) -> RouterRecord {
        if let record = look(reference) { return record }
        let near = NameSuggestions.of(reference, among: all.map(\.router.name))
        let hint = near.isEmpty ? "router.list names all routers" : "did you mean \(near.joined(separator: " or "))?"
        throw RPCError(
            .unknownHandle, "router names nothing here: \(reference.prefix(80)) is no router; \(hint)",
            data: ["pointer": .string("/router")])
    }

    /// Whether this table itself holds the router, and not a table behind this table.
    func holds(_ record: RouterRecord) -> Bool { contents.withLock { $0.byHandle[record.handle.name] != nil } }

    func remove(_ record: RouterRecord) {
        contents.withLock { contents in
            if contents.byHandle.removeValue(forKey: record.handle.name) != nil {
                contents.byName[ByteText(record.router.name)] = nil
            }
        }
        shared?.remove(record)
    }

    /// The client's own and shared routers, by name.
    var all: [RouterRecord] {
        let own = contents.withLock { Array($0.byName.values) }
        let names = Set(own.map { ByteText($0.router.name) })
        let others = shared?.all.filter { !names.contains(ByteText($0.router.name)) } ?? []
        return (own + others).sorted { $0.router.name < $1.router.name }
    }

    private func look(_ reference: String) -> RouterRecord? {
        contents.withLock { $0.byHandle[reference] ?? $0.byName[ByteText(reference)] } ?? shared?.look(reference)
    }
}
