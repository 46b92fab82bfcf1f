// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// Converts an OpenAPI document (3.0 or 3.1) into a router.
///
/// Each operation becomes an endpoint. Unsupported parts are listed in `notes` with their place, never dropped
/// silently. References are followed within the document.
package struct OpenAPIImport {
    package struct Outcome: Sendable {
        package var router: RouterSpec
        package var notes: [ImportNote]
        /// The number of further notes beyond the limit.
        package var moreNotes = 0
    }

    /// The caller's choices.
    package struct Options: Sendable {
        /// Default: `info.title`.
        package var name: String?
        /// Default: the first of `servers`.
        package var baseURL: String?
        /// Values for names in braces in the server's URL.
        package var variables: [String: String] = [:]
        package var defaults: JSONObject = [:]

        package init() {}
    }

    /// The parsed URLs of servers: many operations may share a URL.
    private var knownServers: [String: RouterURL] = [:]
    /// The names in braces in the URLs of servers.
    private var usedVariables: Set<String> = []
    var source: OpenAPISource
    private let options: Options
    var endpoints: [RouterEndpoint] = []
    /// For each endpoint the place of its parameters' schema in the document.
    var schemas: [JSONObject.Member] = []
    /// The schemas that schemas of parameters refer to.
    var definitions: JSONObject = [:]
    /// The names so far.
    private var names: Set<String> = []
    /// The next number of a name that occurs again.
    private var numbers: [String: Int] = [:]

    static let methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]
    /// The temporary member that holds the schemas of parameters during compilation; no document has this member.
    static let shelf = "x-outrider-params"

    /// The most values and bytes of a router.
    private static let mostValues = 1_500_000
    private static let mostBytes = 128 << 20

    /// Throws a complaint whose pointer is into the document.
    ///
    /// - Parameter isLate: whether the time limit is over; the document is then refused.
    package static func router(
        from document: JSONValue, options: Options = Options(), isLate: (@Sendable () -> Bool)? = nil
    ) throws(JSONComplaint) -> Outcome {
        let budget = WorkBudget(values: mostValues, bytes: mostBytes, isLate: isLate)
        var run = OpenAPIImport(source: OpenAPISource(document, budget: budget), options: options)
        try run.checkVersion()
        let base = try run.base()
        try run.readPaths()
        run.noteWhatIsLeftOut()
        try run.compileSchemas()
        let title = run.source.root["info"]?.object?["title"]?.string
        return Outcome(
            router: RouterSpec(
                name: options.name ?? name(ofTitle: title ?? ""), baseURL: base, defaults: options.defaults,
                endpoints: run.endpoints, definitions: run.definitions),
            notes: run.source.notes, moreNotes: run.source.moreNotes)
    }

    /// A name that a client may also choose.
    private static func name(ofTitle title: String) -> String {
        let name = cut(String(FieldRules.trimmed(String(title.prefix(64)).printable[...])))
        return name.isEmpty || name.hasPrefix("rtr_") ? "api" : name
    }

    /// Names have at most 128 bytes.
    private static func cut(_ name: String, to most: Int = 128) -> String {
        var name = name
        while name.utf8.count > most { name.unicodeScalars.removeLast() }
        return name
    }

    private func checkVersion() throws(JSONComplaint) {
        let version = source.root["openapi"]?.string
        if let version, version.hasPrefix("3.0") || version.hasPrefix("3.1") { return }
        if source.root["swagger"] != nil {
            throw JSONComplaint(
                "must be OpenAPI 3.0 or 3.1, not Swagger 2.0: convert it first", at: JSONPointer(member: "swagger"))
        }
        throw JSONComplaint(
            "must be an OpenAPI 3.0 or 3.1 document\(version.map { ", not \($0.prefix(20))" } ?? "")",
            at: JSONPointer(member: "openapi"))
    }

    // MARK: servers

    private mutating func base() throws(JSONComplaint) -> RouterURL {
        if let url = options.baseURL { return try RouterURL(url) }
        guard let url = try server(source.root, .root) else {
            throw JSONComplaint(
                "the document names no server: say baseUrl, or add servers", at: JSONPointer(member: "servers"))
        }
        return url
    }

    /// The first server in an object; nil without servers, or if the caller has set a base URL.
    mutating func server(_ holder: JSONObject, _ pointer: JSONPointer) throws(JSONComplaint) -> RouterURL? {
        guard options.baseURL == nil, let servers = holder["servers"]?.array, !servers.isEmpty else {
            return nil
        }
        let place = pointer.appending(JSONPointer(member: "servers"))
        guard let server = servers[0].object, let written = server["url"]?.string else {
            throw JSONComplaint(
                "the server has no URL: say baseUrl, or add one", at: place.appending(JSONPointer(index: 0)))
        }
        if servers.count > 1 {
            source.note(
                place, "there are \(servers.count) servers, of which the first is used; baseUrl chooses another")
        }
        let url = try filled(written, server, place)
        try source.budget.spend(bytes: 2 * url.utf8.count)
        if let known = knownServers[url] { return known }
        do throws(JSONComplaint) {
            let read = try RouterURL(url)
            knownServers[url] = read
            return read
        } catch {
            throw JSONComplaint(
                "the server's URL \(url.prefix(200)) \(error.message.prefix(400)): say baseUrl, or write the whole URL",
                at: place.appending(JSONPointer(index: 0)))
        }
    }

    /// The server's URL with the values of its variables. Names in braces within a value stay as they are: values are
    /// not expanded again.
    private mutating func filled(
        _ written: String, _ server: JSONObject, _ place: JSONPointer
    ) throws(JSONComplaint) -> String {
        let variables = server["variables"]?.object?.members ?? []
        try source.budget.spend(values: variables.count)
        var values: [String: String] = [:]
        for member in variables { values[member.name] = member.value.object?["default"]?.string }
        var url = ""
        var rest = written[...]
        while let brace = rest.firstIndex(of: "{"), let end = rest[brace...].firstIndex(of: "}"),
            url.utf8.count <= HTTPURL.maximumLength
        {
            url += rest[..<brace]
            let name = String(rest[rest.index(after: brace)..<end])
            usedVariables.insert(name)
            let value = options.variables[name] ?? values[name]
            if value == nil { source.note(place, "{\(name)} has no value: say it in variables, or say baseUrl") }
            url += value?[...] ?? rest[brace...end]
            rest = rest[rest.index(after: end)...]
        }
        url += rest
        guard url.utf8.count <= HTTPURL.maximumLength else {
            throw JSONComplaint(
                "the server's URL is longer than \(HTTPURL.maximumLength) bytes with its variables: say baseUrl",
                at: place.appending(JSONPointer(index: 0)))
        }
        return url
    }

    // MARK: paths

    private mutating func readPaths() throws(JSONComplaint) {
        guard let paths = source.root["paths"]?.object else {
            return source.note(JSONPointer(member: "paths"), "the document has no paths")
        }
        for path in paths.members where !path.name.hasPrefix("x-") {
            let pointer = JSONPointer(member: path.name).under(member: "paths")
            try source.budget.spend(bytes: pointer.description.utf8.count)
            guard let (item, place) = try source.followed(path.value, pointer), let item = item.object else {
                source.note(pointer, "the path is no object")
                continue
            }
            let base = try server(item, place)
            for method in Self.methods {
                guard let value = item[method] else { continue }
                let at = place.appending(JSONPointer(member: method))
                guard let operation = value.object else {
                    source.note(at, "the operation is no object")
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
        // the path is stored in the endpoint, in its pointer, and in the pointers of its parameters
        try source.budget.spend(bytes: 2 * path.utf8.count)
        let template: PathTemplate
        let sent = path.prefix { $0 != "#" }
        if sent.utf8.count < path.utf8.count { source.note(pointer, "what follows # in the path is not sent") }
        do throws(JSONComplaint) {
            template = try PathTemplate(String(sent))
        } catch {
            return source.note(pointer, "left out, because its path \(error.message)")
        }
        var reading = OperationReading(
            endpoint: RouterEndpoint(name: name(operation, method, path, pointer), path: template), pointer: pointer)
        reading.endpoint.summary = operation["summary"]?.string.map { String($0.prefix(300)) }
        reading.endpoint.options["method"] = .string(method.uppercased())
        try reading.readParameters(item, operation, &source)
        try reading.readBody(operation, &source)
        try reading.readResponses(operation, &source)
        reading.endpoint.baseURL = try server(operation, pointer) ?? base
        if operation["callbacks"] != nil {
            source.note(pointer.appending(JSONPointer(member: "callbacks")), "callbacks are not used")
        }
        if operation["security"] != nil || source.root["security"] != nil { needsSecurity = true }
        schemas.append(.init(reading.endpoint.name, reading.schema))
        endpoints.append(reading.endpoint)
    }

    private var needsSecurity = false

    /// The operationId, or a name derived from method and path.
    private mutating func name(_ operation: JSONObject, _ method: String, _ path: String, _ pointer: JSONPointer)
        -> String
    {
        var name = operation["operationId"]?.string ?? ""
        if name.isEmpty || name.utf8.count > 128 || name.hasPrefix("rtr_") {
            let words = path.split { !($0.isLetter || $0.isNumber) }.map { $0.prefix(1).uppercased() + $0.dropFirst() }
            name = Self.cut(String((method + words.joined()).prefix(120)))
            source.note(pointer, "the operation has no usable operationId, and is called \(name)")
        }
        if names.insert(name).inserted { return name }
        let beginning = Self.cut(name, to: 120)
        var number = numbers[beginning] ?? 2
        while !names.insert("\(beginning)\(number)").inserted { number += 1 }
        numbers[beginning] = number + 1
        let own = "\(beginning)\(number)"
        source.note(pointer, "the operationId \(name) occurs twice; this one is called \(own)")
        return own
    }

    private mutating func noteWhatIsLeftOut() {
        if needsSecurity {
            source.note(
                JSONPointer(member: "security"),
                "security is not carried over: put headers or auth into defaults or overrides")
        }
        for name in options.variables.keys.sorted() where options.baseURL == nil && !usedVariables.contains(name) {
            source.note(JSONPointer(member: "servers"), "no server that is used has the variable \(name.excerpt)")
        }
        for word in ["webhooks"] where source.root[word] != nil {
            source.note(JSONPointer(member: word), "\(word) are not used")
        }
    }

    // MARK: references
}
