// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// Converts an operation of an OpenAPI document into an endpoint.
struct OperationReading {
    var endpoint: RouterEndpoint
    let pointer: JSONPointer
    private var properties: [JSONObject.Member] = []
    private var required: [JSONValue] = []

    init(endpoint: RouterEndpoint, pointer: JSONPointer) {
        self.endpoint = endpoint
        self.pointer = pointer
    }

    /// Of the object of all parameters; others are a mistake.
    var schema: JSONValue {
        var schema: JSONObject = ["type": .string("object")]
        if !properties.isEmpty { schema["properties"] = .object(JSONObject(members: properties)) }
        if !required.isEmpty { schema["required"] = .array(required) }
        schema["additionalProperties"] = .bool(false)
        return .object(schema)
    }

    /// The names of the properties.
    private var taken: Set<String> = []

    private func isTaken(_ name: String) -> Bool { taken.contains(name) }

    private mutating func add(_ name: String, _ schema: JSONValue) {
        taken.insert(name)
        properties.append(.init(name, schema))
    }

    /// The most types in Accept, and the most bytes of this field.
    private static let mostTypes = (count: 100, bytes: 8 << 10)

    // MARK: parameters

    /// Reads the parameters: those of the operation win over those of the path item with the same name and place.
    mutating func readParameters(
        _ item: JSONObject, _ operation: JSONObject, _ source: inout OpenAPISource
    ) throws(JSONComplaint) {
        var found: [(parameter: JSONObject, place: JSONPointer)] = []
        var known: Set<[String]> = []
        for (list, place) in [
            (operation["parameters"], pointer), (item["parameters"], Self.parent(pointer)),
        ] {
            for (index, value) in (list?.array ?? []).enumerated() {
                let at = place.appending(JSONPointer(index: index).under(member: "parameters"))
                try source.budget.spend(bytes: at.description.utf8.count)
                guard let (value, place) = try source.followed(value, at), let parameter = value.object,
                    let name = parameter["name"]?.string
                else {
                    source.note(at, "the parameter cannot be read: its reference leads nowhere, or it has no name")
                    continue
                }
                let isNew = known.insert([name, parameter["in"]?.string ?? ""]).inserted
                if isNew { found.append((parameter, place)) }
            }
        }
        for (parameter, place) in found { add(parameter, place, &source) }
        let described = Set(found.compactMap { $0.parameter["name"]?.string })
        for name in endpoint.path.names where !described.contains(name) {
            source.note(pointer, "the path needs {\(name)}, which is not described; any text is taken")
            add(name, .bool(true))
        }
    }

    private static func parent(_ pointer: JSONPointer) -> JSONPointer {
        let text = pointer.description
        guard let slash = text.lastIndex(of: "/") else { return .root }
        return JSONPointer(written: String(text[..<slash])) ?? .root
    }

    private mutating func add(_ parameter: JSONObject, _ place: JSONPointer, _ source: inout OpenAPISource) {
        let name = parameter["name"]?.string ?? ""
        guard let part = parameter["in"]?.string.flatMap(ParameterPlace.Part.init(rawValue:)), part != .body else {
            return source.note(place, "\(name) stands in no part of a request that is known")
        }
        if part == .header, ["accept", "content-type", "authorization"].contains(name.lowercased()) {
            return source.note(
                place, "the header \(name) follows from the rest, as OpenAPI has it; overrides can set it")
        }
        var target = ParameterPlace(part)
        // parameters in different parts may share a name
        var own = name
        if isTaken(own) {
            own = "\(name)In\(part.rawValue.prefix(1).uppercased() + part.rawValue.dropFirst())"
            guard !isTaken(own) else { return source.note(place, "\(name) occurs too often, and is left out") }
            source.note(place, "\(name) is taken already; this one is called \(own)")
            target.name = name
        }
        readStyle(parameter, &target, place, &source)
        if part != .path || own != name || target.explodes != nil { endpoint.places[own] = target }
        add(own, schema(parameter, place, &source))
        if parameter["required"] == .bool(true) || part == .path { required.append(.string(own)) }
    }

    private func readStyle(
        _ parameter: JSONObject, _ target: inout ParameterPlace, _ place: JSONPointer, _ source: inout OpenAPISource
    ) {
        if case .bool(let explode)? = parameter["explode"] { target.explodes = explode }
        if let style = parameter["style"]?.string {
            if let known = ParameterPlace.Style(rawValue: style) {
                target.style = known
            } else {
                source.note(place, "the style \(style) is not supported; it is written as simple")
            }
        }
        if parameter["allowReserved"] == .bool(true) {
            source.note(place, "allowReserved is not used: reserved characters are percent-encoded")
        }
    }

    /// A reference to the schema's place, so that its own references resolve.
    private func schema(_ parameter: JSONObject, _ place: JSONPointer, _ source: inout OpenAPISource) -> JSONValue {
        if parameter["schema"] != nil { return Self.reference(place.appending(JSONPointer(member: "schema"))) }
        if let content = parameter["content"]?.object?.members.first {
            source.note(place, "content of parameters is not used: give \(content.name) as a text")
        }
        return .bool(true)
    }

    static func reference(_ place: JSONPointer) -> JSONValue {
        .object(["$ref": .string("#" + PercentEncoding.fragment.escape(place.description))])
    }

    // MARK: body

    mutating func readBody(_ operation: JSONObject, _ source: inout OpenAPISource) throws(JSONComplaint) {
        guard let written = operation["requestBody"] else { return }
        let at = pointer.appending(JSONPointer(member: "requestBody"))
        guard let (value, place) = try source.followed(written, at), let body = value.object,
            let content = body["content"]?.object?.members, !content.isEmpty
        else { return source.note(at, "the body cannot be read: its reference leads nowhere, or it has no content") }
        try source.budget.spend(values: content.count)
        let (media, kind) = Self.chosen(content)
        if content.count > 1 {
            let others = content.lazy.map(\.name).filter { $0 != media.name }.prefix(8).joined(separator: ", ")
            source.note(place, "the body is \(media.name); not offered are \(others)")
        }
        var target = ParameterPlace(.body)
        target.kind = kind
        if kind == .body { source.note(place, "\(media.name) is given as a Body, such as {\"file\": path}") }
        if kind == .multipart {
            source.note(
                place,
                "\(media.name) is given as a list of parts, such as {\"name\": \"a\", \"text\": \"b\"} or {\"name\": \"c\", \"file\": path}"
            )
        }
        if kind != .multipart, media.name != "application/json", !media.name.contains("*") {
            target.contentType = media.name
        }
        let holder = place.appending(JSONPointer(member: media.name).under(member: "content"))
        if ["GET", "HEAD"].contains(endpoint.options["method"]?.string) {
            endpoint.options["allowGetBody"] = .bool(true)
        }
        readEncoding(media.value.object?["encoding"]?.object, &target, holder, &source)
        let name = isTaken("body") ? "requestBody" : "body"
        endpoint.places[name] = target
        try source.budget.spend(bytes: place.description.utf8.count + 2 * media.name.utf8.count)
        let isChecked = media.value.object?["schema"] != nil && (kind == .json || kind == .form)
        add(name, isChecked ? Self.reference(holder.appending(JSONPointer(member: "schema"))) : .bool(true))
        if body["required"] == .bool(true) { required.append(.string(name)) }
    }

    /// Fields of a form are written with brackets, or by repeating their name.
    private func readEncoding(
        _ encoding: JSONObject?, _ target: inout ParameterPlace, _ holder: JSONPointer, _ source: inout OpenAPISource
    ) {
        guard let encoding, !encoding.isEmpty else { return }
        var isUsed = target.kind == .form
        if isUsed {
            let parts = encoding.members.map { $0.value.object ?? [:] }
            if parts.contains(where: { $0["style"] == .string("deepObject") }) { target.style = .deepObject }
            let style = target.style ?? .form
            isUsed = parts.allSatisfy { part in
                let isAlike = style == .form || part["style"]?.string == style.rawValue
                return isAlike
                    && part.members.allSatisfy { member in
                        member.name == "style"
                            ? member.value.string == style.rawValue : member == .init("explode", .bool(true))
                    }
            }
        }
        if !isUsed { source.note(holder, "encoding of single parts is not used") }
    }

    /// JSON before forms before texts before all else.
    private static func chosen(_ content: [JSONObject.Member]) -> (JSONObject.Member, ParameterPlace.BodyKind) {
        let kinds = content.map { ($0, kind($0.name)) }
        // before application/json-patch+json and others, which mean more than the schema
        if let plain = kinds.first(where: { isPlainJSON($0.0.name) }) { return plain }
        for wanted in [ParameterPlace.BodyKind.json, .form, .multipart, .text] {
            if let found = kinds.first(where: { $0.1 == wanted }) { return found }
        }
        return kinds[0]
    }

    private static func isPlainJSON(_ media: String) -> Bool {
        media.prefix { $0 != ";" }.lowercased() == "application/json"
    }

    private static func kind(_ media: String) -> ParameterPlace.BodyKind {
        let type = media.prefix { $0 != ";" }.lowercased()
        if type == "application/json" || type.hasSuffix("+json") || type == "*/*" { return .json }
        if type == "application/x-www-form-urlencoded" { return .form }
        if type == "multipart/form-data" { return .multipart }
        return type.hasPrefix("text/") ? .text : .body
    }

    // MARK: responses

    /// Reads the statuses and types of success, and the shape of the body.
    mutating func readResponses(_ operation: JSONObject, _ source: inout OpenAPISource) throws(JSONComplaint) {
        var types: [String] = []
        for response in operation["responses"]?.object?.members ?? [] where response.name.hasPrefix("2") {
            let place = pointer.appending(JSONPointer(member: response.name).under(member: "responses"))
            try source.budget.spend(bytes: place.description.utf8.count)
            guard let (value, _) = try source.followed(response.value, place) else {
                source.note(place, "the response's reference leads nowhere")
                continue
            }
            for media in value.object?["content"]?.object?.members ?? [] {
                if types.count > Self.mostTypes.count { break }
                if !types.contains(media.name) { types.append(media.name) }
            }
        }
        guard !types.isEmpty else { return }
        let bytes = types.reduce(0) { $0 + $1.utf8.count + 2 }
        guard types.count <= Self.mostTypes.count, bytes <= Self.mostTypes.bytes else {
            return source.note(pointer, "the types of the responses are too many for Accept, which is left out")
        }
        let accept = types.joined(separator: ", ")
        try source.budget.spend(bytes: bytes)
        if FieldRules.fault(inField: "Accept", accept) == nil {
            endpoint.options["headers"] = .array([RouterMerge.field("Accept", accept)])
        }
    }
}
