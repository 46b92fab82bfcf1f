// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// Maps method names to implementations. Built once at start.
package struct MethodTable<Scope: ConnectionScope>: Sendable {
    /// A class, because the metadata of a metatype with a generic scope are looked up at each use.
    private final class Entry: Sendable {
        let method: any Method<Scope>.Type

        init(_ method: any Method<Scope>.Type) { self.method = method }
    }

    /// Each is an `Entry`: the functions of a dictionary with a generic class are not specialized, and look up its
    /// metadata at each use.
    private var methods: [String: any AnyObject & Sendable] = [:]
    /// Sorted.
    package private(set) var names: [String] = []
    /// The methods whose calls may be followed by raw bytes.
    package private(set) var rawMethods: Set<String> = []
    /// The members of messages that are read into locked memory.
    package var secrets = SecretMembers()
    /// The rules for clients that run as another user than the service.
    package var ownerRules = OwnerRules()

    package init() {}

    /// A later method replaces an earlier method of the same name; the tests refuse duplicates.
    package mutating func add<M: Method>(_ method: M.Type) where M.Scope == Scope {
        if M.takesBytes { rawMethods.insert(M.name) }
        if methods[M.name] == nil { names.insert(M.name, at: names.firstIndex { $0 > M.name } ?? names.endIndex) }
        methods[M.name] = Entry(method)
    }

    private func entry(_ name: String) -> Entry? { methods[name].map { unsafeDowncast($0, to: Entry.self) } }

    package subscript(name: String) -> (any Method<Scope>.Type)? { entry(name)?.method }

    package func knows(_ name: String) -> Bool { methods[name] != nil }

    /// As `Method.started`; nil for an unknown method.
    package func start(
        _ name: String, _ params: JSONValue, _ call: Call<Scope>, _ completion: @escaping CallCompletion
    ) throws -> StartedCall? {
        guard let entry = entry(name) else { return nil }
        return try entry.method.started(params, call, completion)
    }
}
