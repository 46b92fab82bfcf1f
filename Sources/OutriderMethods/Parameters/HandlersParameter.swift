// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Further consumers of the response beside its caller.
struct HandlersParameter: JSONDecodable {
    var handlers: [ResponseRecipient]

    private static let most = 16
    private static let longestID = 256

    init(json: JSONValue) throws(JSONComplaint) {
        handlers = try [HandlerParameter](json: json).map(\.handler)
        guard handlers.count <= Self.most else { throw JSONComplaint("must have at most \(Self.most) entries") }
        var seen: Set<String> = []
        for (index, handler) in handlers.enumerated() {
            let pointer = JSONPointer(member: "id").under(index: index)
            guard (1...Self.longestID).contains(handler.id.utf8.count) else {
                throw JSONComplaint("id must have 1 to \(Self.longestID) bytes", at: pointer)
            }
            guard seen.insert(handler.id).inserted else {
                throw JSONComplaint("id must differ from those of the other handlers", at: pointer)
            }
        }
    }

    private struct HandlerParameter: JSONDecodable {
        var handler: ResponseRecipient

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let id: String? = try fields.optional("id")
            let serialize: SerializeParameter? = try fields.optional("serialize")
            let validate: ValidateParameter? = try fields.optional("validate")
            try fields.finish()
            handler = ResponseRecipient(
                id: try JSONFields.need("id", id), serialize: serialize?.spec ?? SerializeSpec(),
                validation: validate?.validation)
        }
    }
}

extension ResponseOptions {
    /// `validate`, `handlers` and `maxBody` among other members; nil if all are absent.
    static func read(_ fields: inout JSONFields, isStream: Bool) throws(JSONComplaint) -> ResponseOptions? {
        let validate: ValidateParameter? = try fields.optional("validate")
        let handlers: HandlersParameter? = isStream ? nil : try fields.optional("handlers")
        let maxBody = try fields.integer("maxBody", in: 0...9_007_199_254_740_992)
        if validate == nil, handlers == nil, maxBody == nil { return nil }
        return ResponseOptions(
            validation: validate?.validation, handlers: handlers?.handlers ?? [], maxBody: maxBody)
    }
}
