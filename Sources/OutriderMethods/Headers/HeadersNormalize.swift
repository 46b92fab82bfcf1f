// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Brings header fields into the form in which they would be sent, changed as asked.
struct HeadersNormalize: Computation {
    static let name = "headers.normalize"

    struct Params: JSONDecodable {
        private var given: FieldLinesParameter?
        private var adding: FieldLinesParameter?
        private var setting: FieldLinesParameter?
        var removed: [String]
        var authorization: Authorization?
        var isUnique: Bool
        var isSorted: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            given = try fields.optional("headers")
            adding = try fields.optional("add")
            setting = try fields.optional("set")
            removed = try fields.optional("remove") ?? []
            authorization = try fields.optional("auth", as: AuthParameter.self)?.authorization
            isUnique = try fields.optional("unique") ?? false
            isSorted = try fields.optional("sort") ?? false
            try fields.finish()
        }

        var fields: HTTPFields { given?.fields ?? [] }
        var added: HTTPFields { adding?.fields ?? [] }
        var replacing: HTTPFields { setting?.fields ?? [] }
        /// Whether `replacing` was an object, whose members may have several values each.
        var replacesByMember: Bool { setting?.isObject ?? false }

        /// Throws if the field may not be sent, with the place that gave the field.
        fileprivate func check(_ field: HTTPFields.Field) throws(HTTPFailure) {
            do throws(HTTPFailure) {
                try FieldCheck.check([field])
            } catch {
                var failure = error
                for (member, lines) in [("set", setting), ("add", adding), ("headers", given)] {
                    guard let place = lines?.place(of: field.name) else { continue }
                    failure.pointer = place.under(member: member).description
                    break
                }
                throw failure
            }
        }
    }

    typealias Result = ReplyMembers

    static func compute(_ params: Params) throws(RPCError) -> ReplyMembers {
        var fields = params.fields
        fields.list += params.added.list
        if params.isUnique { fields = fields.unique() }
        var table = FieldTable(fields)
        var last: String?
        for field in params.replacing.list {
            // of the values of one member, the first replaces and the others are added
            if params.replacesByMember, field.name == last {
                table.add(field)
            } else {
                table.set(field)
            }
            last = field.name
        }
        for name in params.removed { table.remove(name) }
        fields = table.fields
        do throws(HTTPFailure) {
            if let value = try params.authorization?.fieldValue() { fields.set("Authorization", value) }
            for field in fields.list { try params.check(field) }
            try FieldCheck.check(fields)
        } catch {
            throw RPCError(error)
        }
        if params.isSorted { fields = fields.sorted() }
        return ReplyMembers { writer in
            writer.member("headers", FieldsShape(fields))
            writer.member("text", fields.list.map { "\($0.name): \($0.value)" }.joined(separator: "\n"))
        }
    }
}

/// Fields as FieldsParameter reads them, or a list of lines, "Name: value".
private struct FieldLinesParameter: JSONDecodable {
    var fields: HTTPFields
    var isObject = false

    /// The place of the first field with the name; nil without such a field.
    func place(of name: String) -> JSONPointer? {
        guard let index = fields.list.firstIndex(where: { HTTPFields.same($0.name, name) }) else { return nil }
        return isObject ? JSONPointer(member: fields.list[index].name) : JSONPointer.root.under(index: index)
    }

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
