// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// The fields of a request, as `-H` names them.
struct FieldWords {
    /// Fields of the contract, in their order.
    private(set) var fields: [JSONValue] = []
    /// The names of `Name:`, which remove a field that would be sent by itself; in lower case.
    private(set) var removed: Set<String> = []

    mutating func add(_ name: Substring, _ value: Substring?) {
        guard let value else { return _ = removed.insert(name.lowercased()) }
        fields.append(.object(["name": .string(String(name)), "value": .string(String(value))]))
    }

    /// Adds a Host field to the params of a request, unless they have one.
    static func name(_ host: String, in params: inout JSONObject) {
        var fields = params["headers"]?.array ?? []
        if fields.contains(where: { $0.object?["name"]?.string?.lowercased() == "host" }) { return }
        fields.append(.object(["name": .string("Host"), "value": .string(host)]))
        params["headers"] = .array(fields)
    }

    /// Whether Accept-Encoding, as given here, asks for a coding; nil where the default field is left.
    var asksForCoding: Bool? {
        let own = fields.compactMap(\.object).filter { $0["name"]?.string?.lowercased() == "accept-encoding" }
        if own.isEmpty, !removed.contains("accept-encoding") { return nil }
        return own.contains { field in
            let value = (field["value"]?.string ?? "").lowercased().filter { !$0.isWhitespace }
            return !value.isEmpty && value != "identity"
        }
    }

    /// Asks for the stored bytes of a file. Params with `decode` have an Accept-Encoding of the user.
    static func takeAsStored(_ params: inout JSONObject) {
        if params["decode"] == nil {
            var fields = params["headers"]?.array ?? []
            fields.removeAll { HTTPFields.same($0.object?["name"]?.string ?? "", "Accept-Encoding") }
            fields.append(.object(["name": .string("Accept-Encoding"), "value": .string("identity")]))
            params["headers"] = .array(fields)
        }
        params["decode"] = .bool(false)
    }

    /// Adds the members for these fields; the body, if any, is among the members already. Where a default field is
    /// removed the others are named, since the contract has all of them or none.
    ///
    /// - Parameter isDownload: the service chooses Accept-Encoding itself.
    func add(to params: inout JSONObject, isDownload: Bool = false) {
        var fields = fields
        if removed.contains("content-type"), var body = params["body"]?.object {
            body["contentType"] = nil
            params["body"] = .object(body)
        }
        let defaults = DefaultFields.ofThisUser.list
        if removed.contains("content-type") || defaults.contains(where: { removed.contains($0.name.lowercased()) }) {
            var names = Set(fields.compactMap { $0.object?["name"]?.string?.lowercased() }).union(removed)
            // parts of a coded body could not be decoded
            if isDownload || names.contains("range") { names.insert("accept-encoding") }
            for field in defaults where !names.contains(field.name.lowercased()) {
                fields.append(.object(["name": .string(field.name), "value": .string(field.value)]))
            }
            params["defaultHeaders"] = .bool(false)
        }
        if !fields.isEmpty { params["headers"] = .array(fields) }
    }
}
