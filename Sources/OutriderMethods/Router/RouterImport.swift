// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Makes a router of an OpenAPI document.
struct RouterImport: Method {
    static let name = "router.import"

    struct Params: JSONDecodable {
        var source: APISource
        var options = OpenAPIImport.Options()
        var isShared: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let source: APISource? = try fields.optional("from")
            options.name = try fields.optional("name", check: RouterDefinition.fault(inName:))
            options.baseURL = try fields.optional("baseUrl", as: BaseURLParameter.self)?.url.text
            let variables: TextsParameter? = try fields.optional("variables")
            options.variables = variables?.texts ?? [:]
            let defaults: RequestOptions? = try fields.optional("defaults")
            options.defaults = defaults?.object ?? [:]
            isShared = try fields.optional("shared") ?? false
            try fields.finish()
            self.source = try JSONFields.need("from", source)
        }
    }

    struct Reply: ObjectShape {
        var record: RouterRecord

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("router", record.handle)
            writer.member("name", record.router.name)
            writer.member("baseUrl", record.router.baseURL.text)
            writer.member("endpoints", record.router.endpoints.map(\.name))
            writer.member("notes", record.notes.map(NoteShape.init))
            writer.member("moreNotes", record.moreNotes)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONText {
        // a large document takes a second or more: not on the loop
        let file = try await contents(of: params.source, for: call.scope.quota.client)
        let charge = try call.kept(file.count)
        let made = await background { () -> Swift.Result<RouterRecord, RPCError> in
            Swift.Result { () throws(RPCError) in try make(params, file) }
        }
        let record = try made.get()
        try record.keep(call, charge)
        return await RouterWork.text(Reply(record: record))
    }

    /// The bytes of the document, if a file has it.
    private static func contents(of source: APISource, for client: ClientKey) async throws(RPCError) -> [UInt8] {
        guard case .file(let path) = source else { return [] }
        do throws(HTTPFailure) {
            return try await offLoop(for: client) { () throws(HTTPFailure) in
                try DocumentFile.read(path, limit: WrittenDocument.maximumBytes)
            }
        } catch {
            throw RPCError(error, at: "/from/file")
        }
    }

    private static func make(_ params: Params, _ file: [UInt8]) throws(RPCError) -> RouterRecord {
        let isLate = RouterWork.deadline()
        let document: JSONValue
        let member: String
        switch params.source {
        case .document(let value): (document, member) = (value, "document")
        case .text(let text): (document, member) = (try parsed(Array(text.utf8), "text"), "text")
        case .file: (document, member) = (try parsed(file, "file"), "file")
        }
        do throws(JSONComplaint) {
            let outcome = try OpenAPIImport.router(from: document, options: params.options, isLate: isLate)
            return RouterRecord(outcome, isShared: params.isShared)
        } catch {
            throw RPCError(error.under(member: member).under(member: "from"))
        }
    }

    private static func parsed(_ bytes: [UInt8], _ member: String) throws(RPCError) -> JSONValue {
        do throws(JSONComplaint) {
            return try WrittenDocument.parse(bytes)
        } catch {
            throw RPCError(
                JSONComplaint("\(member), \(error.message)", at: JSONPointer(member: member).under(member: "from")))
        }
    }
}

/// Where a document is: exactly one of `document`, `text` and `file`.
enum APISource: JSONDecodable {
    case document(JSONValue)
    case text(String)
    case file(String)

    private static let kinds: [StaticString] = ["document", "text", "file"]

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let present = fields.present(Self.kinds)
        let document: JSONObject? = try fields.optional("document")
        let text: String? = try fields.optional("text")
        let file = try fields.path("file")
        try fields.finish()
        guard present.count == 1 else { throw JSONComplaint("must have exactly one of document, text and file") }
        if let document {
            self = .document(.object(document))
        } else if let text {
            self = .text(text)
        } else {
            self = .file(file ?? "")
        }
    }
}

/// An object of texts.
struct TextsParameter: JSONDecodable {
    var texts: [String: String] = [:]

    init(json: JSONValue) throws(JSONComplaint) {
        for member in try JSONObject(json: json).members {
            guard let text = member.value.string else {
                throw JSONComplaint(
                    "\(member.name) must be a string, not \(member.value.typeName)",
                    at: JSONPointer(member: member.name))
            }
            texts[member.name] = text
        }
    }
}

/// A RouterNote of the contract.
struct NoteShape: ObjectShape {
    var note: ImportNote

    init(_ note: ImportNote) { self.note = note }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("pointer", note.pointer)
        writer.member("message", note.message)
    }
}
