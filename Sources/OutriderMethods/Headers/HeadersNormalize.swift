// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Brings header fields into the form in which they would be sent, changed as asked.
struct HeadersNormalize: Computation {
    static let name = "headers.normalize"

    struct Params: JSONDecodable {
        var fields: HTTPFields
        var added: HTTPFields
        var replacing: HTTPFields
        /// Whether `replacing` was an object, whose members may have several values each.
        var replacesByMember: Bool
        var removed: [String]
        var authorization: Authorization?
        var isUnique: Bool
        var isSorted: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let given: FieldLinesParameter? = try fields.optional("headers")
            added = try fields.optional("add", as: FieldLinesParameter.self)?.fields ?? []
            let replacing: FieldLinesParameter? = try fields.optional("set")
            self.replacing = replacing?.fields ?? []
            replacesByMember = replacing?.isObject ?? false
            removed = try fields.optional("remove") ?? []
            authorization = try fields.optional("auth", as: AuthParameter.self)?.authorization
            isUnique = try fields.optional("unique") ?? false
            isSorted = try fields.optional("sort") ?? false
            try fields.finish()
            self.fields = given?.fields ?? []
        }
    }

    struct Result: JSONEncodable {
        var fields: HTTPFields

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("headers", FieldsShape(fields))
                writer.member("text", fields.list.map { "\($0.name): \($0.value)" }.joined(separator: "\n"))
            }
        }
    }

    static func compute(_ params: Params) throws(RPCError) -> Result {
        var fields = params.fields
        fields.list += params.added.list
        if params.isUnique { fields = fields.unique() }
        var last: String?
        for field in params.replacing.list {
            // of the values of one member, the first replaces and the others are added
            if params.replacesByMember, field.name == last {
                fields.list.append(field)
            } else {
                fields.set(field.name, field.value)
            }
            last = field.name
        }
        for name in params.removed { fields.remove(name) }
        do throws(HTTPFailure) {
            if let value = try params.authorization?.fieldValue() { fields.set("Authorization", value) }
            try FieldCheck.check(fields)
        } catch {
            throw RPCError(error)
        }
        if params.isSorted { fields = fields.sorted() }
        return Result(fields: fields)
    }
}

/// Fields as FieldsParameter reads them, or a list of lines, "Name: value".
private struct FieldLinesParameter: JSONDecodable {
    var fields: HTTPFields
    var isObject = false

    init(json: JSONValue) throws(JSONComplaint) {
        isObject = json.object != nil
        guard case .array(let list) = json, list.contains(where: { $0.string != nil }) else {
            fields = try FieldsParameter(json: json).fields
            return
        }
        fields = HTTPFields()
        for (index, item) in list.enumerated() {
            do throws(JSONComplaint) {
                guard let line = item.string else {
                    let named = try FieldsParameter.NamedValue(json: item)
                    fields.add(named.name, named.value)
                    continue
                }
                guard let field = HTTPFields.Field(line: line) else {
                    throw JSONComplaint("must be a line such as \"Name: value\"")
                }
                fields.list.append(field)
            } catch {
                throw error.under(index: index)
            }
        }
    }
}
