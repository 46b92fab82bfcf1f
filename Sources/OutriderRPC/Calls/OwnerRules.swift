// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// Methods and params reserved for the user of the service, if other users may connect (`--allow-uid`): the service
/// would act with the rights of its own user.
package struct OwnerRules: Sendable {
    /// Names on the way from the params of a method to marked members.
    private struct Node: Sendable {
        var members: [String: Node] = [:]
        /// Whether this member names a file.
        var isFile = false
        /// Whether this member is a URL.
        var isURL = false

        mutating func add(_ path: some Collection<Substring>, _ mark: (inout Node) -> Void) {
            guard let first = path.first else { return mark(&self) }
            members[String(first), default: Node()].add(path.dropFirst(), mark)
        }
    }

    private var methods: Set<String> = []
    private var params: [String: Node] = [:]
    /// Schemes of URLs that lead to a socket in the file system.
    private static let socketSchemes = ["http+unix:", "https+unix:"]

    /// No rules: another user may call everything.
    package init() {}

    /// - Parameters:
    ///   - files: by method, the members that name files: paths such as `/body/file`, with `*` for any name. The empty
    ///     method name stands for the results of callbacks.
    ///   - urls: the members that hold URLs.
    ///   - methods: methods that are refused whatever their params.
    package init(files: [String: [String]], urls: [String: [String]], methods: [String]) {
        self.methods = Set(methods)
        for (method, paths) in files {
            for path in paths { params[method, default: Node()].add(path.split(separator: "/")) { $0.isFile = true } }
        }
        for (method, paths) in urls {
            for path in paths { params[method, default: Node()].add(path.split(separator: "/")) { $0.isURL = true } }
        }
    }

    /// The error for a call of another user; nil if the call is permitted.
    package func refusal(of method: String, _ value: JSONValue) -> RPCError? {
        if methods.contains(method) {
            return RPCError(.notPermitted, "\(method) is refused: only the user of the service may call the method")
        }
        guard let node = params[method], let (pointer, what) = Self.fault(value, node, "params") else { return nil }
        let call = method.isEmpty ? "the result of a callback" : method
        return RPCError(
            .notPermitted, "\(call) is refused: only the user of the service may name \(what)",
            data: ["pointer": .string(pointer.description)])
    }

    /// The same check for the result of a callback.
    package func refusal(ofResult value: JSONValue) -> RPCError? { refusal(of: "", value) }

    private static func fault(
        _ value: JSONValue, _ node: Node, _ name: String
    ) -> (pointer: JSONPointer, what: String)? {
        switch value {
        case .null: return nil
        case .object(let object):
            if node.isFile { return (.root, "a file") }
            for member in object.members {
                // a recursive type holds itself under the same name
                let next = node.members[member.name] ?? node.members["*"] ?? (member.name == name ? node : nil)
                guard let next, let found = fault(member.value, next, member.name) else { continue }
                return (found.pointer.under(member: member.name), found.what)
            }
            return nil
        case .array(let values):
            for (index, value) in values.enumerated() {
                guard let found = fault(value, node, name) else { continue }
                return (found.pointer.under(index: index), found.what)
            }
            return nil
        default:
            if node.isFile { return (.root, "a file") }
            guard node.isURL, let text = value.string?.lowercased() else { return nil }
            return socketSchemes.contains(where: text.hasPrefix) ? (.root, "a socket in the file system") : nil
        }
    }
}
