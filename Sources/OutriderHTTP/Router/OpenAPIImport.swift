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

    private let options: Options
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
        var run = OpenAPIImport(document: document, options: options)
        try run.checkVersion()
        let base = try run.base()
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

    private mutating func base() throws(JSONComplaint) -> RouterURL {
        if let url = options.baseURL { return try RouterURL(url) }
        guard let url = try server(document, .root) else {
            throw JSONComplaint("the document names no server: say baseUrl", at: JSONPointer(member: "servers"))
        }
        return url
    }

    /// The first server that is named there; nil without any, and where the caller has named one.
    mutating func server(_ holder: JSONValue, _ pointer: JSONPointer) throws(JSONComplaint) -> RouterURL? {
        guard options.baseURL == nil, let servers = holder.object?["servers"]?.array, !servers.isEmpty else {
            return nil
        }
        let place = pointer.appending(JSONPointer(member: "servers"))
        guard let server = servers[0].object, let written = server["url"]?.string else {
            throw JSONComplaint("the server has no URL: say baseUrl", at: place.appending(JSONPointer(index: 0)))
        }
        if servers.count > 1 {
            note(place, "there are \(servers.count) servers, of which the first is used; baseUrl chooses another")
        }
        var url = written
        for (name, value) in variables(server) {
            url = url.split(separator: "{\(name)}", omittingEmptySubsequences: false).joined(separator: value)
        }
        do throws(JSONComplaint) {
            return try RouterURL(url)
        } catch {
            throw JSONComplaint(
                "the server's URL \(url.prefix(200)) \(error.message): say baseUrl",
                at: place.appending(JSONPointer(index: 0)))
        }
    }

    private func variables(_ server: JSONObject) -> [(String, String)] {
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
            let base = try server(.object(item), place)
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
                try add(operation, method, path.name, item, base, at)
            }
        }
    }

    private mutating func add(
        _ operation: JSONObject, _ method: String, _ path: String, _ item: JSONObject, _ base: RouterURL?,
        _ pointer: JSONPointer
    ) throws(JSONComplaint) {
        let template: PathTemplate
        let sent = path.prefix { $0 != "#" }
        if sent.utf8.count < path.utf8.count { note(pointer, "what follows # in the path is not sent") }
        do throws(JSONComplaint) {
            template = try PathTemplate(String(sent))
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
        reading.endpoint.baseURL = try server(.object(operation), pointer) ?? base
        if operation["callbacks"] != nil {
            note(pointer.appending(JSONPointer(member: "callbacks")), "callbacks are not used")
        }
        if operation["security"] != nil || document.object?["security"] != nil { needsSecurity = true }
        schemas.append(.init(reading.endpoint.name, reading.schema))
        endpoints.append(reading.endpoint)
    }

    private var needsSecurity = false

    private init(document: JSONValue, options: Options) {
        self.document = document
        self.options = options
    }

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
