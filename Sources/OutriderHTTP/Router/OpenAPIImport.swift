// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// An OpenAPI document (3.0 or 3.1) as a router.
///
/// Each operation becomes an endpoint. What cannot be carried over is said in `notes`, each with its place, and never
/// dropped in silence. References are followed within the document.
package struct OpenAPIImport {
    package struct Outcome: Sendable {
        package var router: RouterSpec
        package var notes: [Note]
        /// Notes that were left out because there were too many.
        package var moreNotes = 0
    }

    /// Something that was not carried over, or that somebody should know.
    package struct Note: Sendable, Equatable {
        package var pointer: JSONPointer
        package var message: String
    }

    /// What the document leaves to whoever uses it.
    package struct Options: Sendable {
        /// Default: `info.title`.
        package var name: String?
        /// Default: the first of `servers`.
        package var baseURL: String?
        /// For names in braces in the server's URL.
        package var variables: [String: String] = [:]
        package var defaults: JSONObject = [:]

        package init() {}
    }

    static let maximumNotes = 1000

    var document: JSONValue
    var notes: [Note] = []
    var moreNotes = 0
    var endpoints: [RouterEndpoint] = []
    /// For each endpoint where in the document the schema of its parameters was put.
    var schemas: [JSONObject.Member] = []
    private var names: Set<String> = []

    static let methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]
    /// Where schemas of parameters stand while they are compiled; no document has such a member.
    static let shelf = "x-outrider-params"

    /// Throws a complaint whose pointer is into the document.
    package static func router(
        from document: JSONValue, options: Options = Options()
    ) throws(JSONComplaint) -> Outcome {
        var run = OpenAPIImport(document: document)
        try run.checkVersion()
        let base = try run.base(options)
        try run.readPaths()
        run.noteWhatIsLeftOut()
        run.compileSchemas()
        let title = document.object?["info"]?.object?["title"]?.string
        return Outcome(
            router: RouterSpec(
                name: options.name ?? String((title ?? "api").prefix(64)), baseURL: base, defaults: options.defaults,
                endpoints: run.endpoints),
            notes: run.notes, moreNotes: run.moreNotes)
    }

    mutating func note(_ pointer: JSONPointer, _ message: String) {
        if notes.count < Self.maximumNotes {
            notes.append(Note(pointer: pointer, message: message))
        } else {
            moreNotes += 1
        }
    }

    private func checkVersion() throws(JSONComplaint) {
        let version = document.object?["openapi"]?.string
        if let version, version.hasPrefix("3.0") || version.hasPrefix("3.1") { return }
        if document.object?["swagger"] != nil {
            throw JSONComplaint(
                "must be OpenAPI 3.0 or 3.1, not Swagger 2.0: convert it first", at: JSONPointer(member: "swagger"))
        }
        throw JSONComplaint(
            "must be an OpenAPI 3.0 or 3.1 document\(version.map { ", not \($0)" } ?? "")",
            at: JSONPointer(member: "openapi"))
    }

    // MARK: servers

    private mutating func base(_ options: Options) throws(JSONComplaint) -> RouterURL {
        if let url = options.baseURL { return try RouterURL(url) }
        let pointer = JSONPointer(index: 0).under(member: "servers")
        guard let server = document[pointer]?.object, let written = server["url"]?.string else {
            throw JSONComplaint("the document names no server: say baseUrl", at: JSONPointer(member: "servers"))
        }
        if let count = document.object?["servers"]?.array?.count, count > 1 {
            note(
                JSONPointer(member: "servers"),
                "there are \(count) servers, of which the first is used; baseUrl chooses another")
        }
        var url = written
        for (name, value) in variables(server, options) {
            url = url.split(separator: "{\(name)}", omittingEmptySubsequences: false).joined(separator: value)
        }
        do throws(JSONComplaint) {
            return try RouterURL(url)
        } catch {
            throw JSONComplaint("the server's URL \(url) \(error.message): say baseUrl", at: pointer)
        }
    }

    private func variables(_ server: JSONObject, _ options: Options) -> [(String, String)] {
        (server["variables"]?.object?.members ?? []).compactMap { member in
            (options.variables[member.name] ?? member.value.object?["default"]?.string).map { (member.name, $0) }
        }
    }

    // MARK: paths

    private mutating func readPaths() throws(JSONComplaint) {
        guard let paths = document.object?["paths"]?.object else {
            return note(JSONPointer(member: "paths"), "the document has no paths")
        }
        for path in paths.members where !path.name.hasPrefix("x-") {
            let pointer = JSONPointer(member: path.name).under(member: "paths")
            guard let (item, place) = followed(path.value, pointer), let item = item.object else {
                note(pointer, "the path is no object")
                continue
            }
            if item["servers"] != nil {
                note(place.appending(JSONPointer(member: "servers")), "servers of one path are not used")
            }
            for method in Self.methods {
                guard let value = item[method] else { continue }
                let at = place.appending(JSONPointer(member: method))
                guard let operation = value.object else {
                    note(at, "the operation is no object")
                    continue
                }
                if endpoints.count >= 10_000 {
                    throw JSONComplaint("the document has more than 10000 operations", at: at)
                }
                add(operation, method, path.name, item, at)
            }
        }
    }

    private mutating func add(
        _ operation: JSONObject, _ method: String, _ path: String, _ item: JSONObject, _ pointer: JSONPointer
    ) {
        let template: PathTemplate
        do throws(JSONComplaint) {
            template = try PathTemplate(path)
        } catch {
            return note(pointer, "left out, because its path \(error.message)")
        }
        var reading = OperationReading(
            endpoint: RouterEndpoint(name: name(operation, method, path, pointer), path: template), pointer: pointer)
        reading.endpoint.summary = operation["summary"]?.string.map { String($0.prefix(300)) }
        reading.endpoint.options["method"] = .string(method.uppercased())
        reading.readParameters(item, operation, &self)
        reading.readBody(operation, &self)
        reading.readResponses(operation, &self)
        for word in ["servers", "callbacks"] where operation[word] != nil {
            note(pointer.appending(JSONPointer(member: word)), "\(word) of one operation are not used")
        }
        if operation["security"] != nil || document.object?["security"] != nil { needsSecurity = true }
        schemas.append(.init(reading.endpoint.name, reading.schema))
        endpoints.append(reading.endpoint)
    }

    private var needsSecurity = false

    init(document: JSONValue) { self.document = document }

    /// Its operationId, or one made of method and path.
    private mutating func name(_ operation: JSONObject, _ method: String, _ path: String, _ pointer: JSONPointer)
        -> String
    {
        var name = operation["operationId"]?.string ?? ""
        if name.isEmpty || name.utf8.count > 128 || name.hasPrefix("rtr_") {
            let words = path.split { !($0.isLetter || $0.isNumber) }.map { $0.prefix(1).uppercased() + $0.dropFirst() }
            name = String((method + words.joined()).prefix(120))
            note(pointer, "the operation has no usable operationId, and is called \(name)")
        }
        guard names.contains(name) else {
            names.insert(name)
            return name
        }
        var number = 2
        while names.contains("\(name)\(number)") { number += 1 }
        note(pointer, "the operationId \(name) occurs twice; this one is called \(name)\(number)")
        names.insert("\(name)\(number)")
        return "\(name)\(number)"
    }

    private mutating func noteWhatIsLeftOut() {
        if needsSecurity {
            note(
                JSONPointer(member: "security"),
                "security is not carried over: put headers or auth into defaults or overrides")
        }
        for word in ["webhooks"] where document.object?[word] != nil {
            note(JSONPointer(member: word), "\(word) are not used")
        }
    }

    // MARK: references

    /// What a reference, or a chain of them, leads to, and where that stands; nil if it leads nowhere.
    func followed(_ value: JSONValue, _ pointer: JSONPointer) -> (JSONValue, JSONPointer)? {
        var value = value
        var pointer = pointer
        for _ in 0..<16 {
            guard let reference = value.object?["$ref"]?.string else { return (value, pointer) }
            guard reference.hasPrefix("#"), let place = JSONPointer(written: String(reference.dropFirst())),
                let target = document[place]
            else { return nil }
            value = target
            pointer = place
        }
        return nil
    }
}
