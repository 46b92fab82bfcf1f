// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// One operation of an OpenAPI document on its way to an endpoint.
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

    private func isTaken(_ name: String) -> Bool { properties.contains { $0.name == name } }

    // MARK: parameters

    /// Those of the path item count unless the operation has its own of the same name and place.
    mutating func readParameters(_ item: JSONObject, _ operation: JSONObject, _ run: inout OpenAPIImport) {
        var found: [(parameter: JSONObject, place: JSONPointer)] = []
        for (list, place) in [
            (operation["parameters"], pointer), (item["parameters"], Self.parent(pointer)),
        ] {
            for (index, value) in (list?.array ?? []).enumerated() {
                let at = place.appending(JSONPointer(index: index).under(member: "parameters"))
                guard let (value, place) = run.followed(value, at), let parameter = value.object,
                    parameter["name"]?.string != nil
                else {
                    run.note(at, "the parameter cannot be read: its reference leads nowhere, or it has no name")
                    continue
                }
                let isKnown = found.contains {
                    $0.parameter["name"] == parameter["name"] && $0.parameter["in"] == parameter["in"]
                }
                if !isKnown { found.append((parameter, place)) }
            }
        }
        for (parameter, place) in found { add(parameter, place, &run) }
        for name in endpoint.path.names where !found.contains(where: { $0.parameter["name"]?.string == name }) {
            run.note(pointer, "the path needs {\(name)}, which is not described; any text is taken")
            properties.append(.init(name, .bool(true)))
        }
    }

    private static func parent(_ pointer: JSONPointer) -> JSONPointer {
        let text = pointer.description
        guard let slash = text.lastIndex(of: "/") else { return .root }
        return JSONPointer(written: String(text[..<slash])) ?? .root
    }

    private mutating func add(_ parameter: JSONObject, _ place: JSONPointer, _ run: inout OpenAPIImport) {
        let name = parameter["name"]?.string ?? ""
        guard let part = parameter["in"]?.string.flatMap(ParameterPlace.Part.init(rawValue:)), part != .body else {
            return run.note(place, "\(name) stands in no part of a request that is known")
        }
        if part == .header, ["accept", "content-type", "authorization"].contains(name.lowercased()) {
            return run.note(place, "the header \(name) follows from the rest, as OpenAPI has it; overrides can set it")
        }
        var target = ParameterPlace(part)
        // one name may stand in several parts
        var own = name
        if isTaken(own) {
            own = "\(name)In\(part.rawValue.prefix(1).uppercased() + part.rawValue.dropFirst())"
            guard !isTaken(own) else { return run.note(place, "\(name) occurs too often, and is left out") }
            run.note(place, "\(name) is taken already; this one is called \(own)")
            target.name = name
        }
        readStyle(parameter, &target, place, &run)
        if part != .path || own != name || target.explodes != nil { endpoint.places[own] = target }
        properties.append(.init(own, schema(parameter, place, &run)))
        if parameter["required"] == .bool(true) || part == .path { required.append(.string(own)) }
    }

    private func readStyle(
        _ parameter: JSONObject, _ target: inout ParameterPlace, _ place: JSONPointer, _ run: inout OpenAPIImport
    ) {
        if case .bool(let explode)? = parameter["explode"] { target.explodes = explode }
        if let style = parameter["style"]?.string {
            if let known = ParameterPlace.Style(rawValue: style) {
                target.style = known
            } else {
                run.note(place, "the style \(style) is not supported; it is written as simple")
            }
        }
        if parameter["allowReserved"] == .bool(true) {
            run.note(place, "allowReserved is not used: reserved characters are percent-encoded")
        }
    }

    /// A reference to where the schema stands, so that what it refers to is found.
    private func schema(_ parameter: JSONObject, _ place: JSONPointer, _ run: inout OpenAPIImport) -> JSONValue {
        if parameter["schema"] != nil { return Self.reference(place.appending(JSONPointer(member: "schema"))) }
        if let content = parameter["content"]?.object?.members.first {
            run.note(place, "content of parameters is not used: give \(content.name) as a text")
        }
        return .bool(true)
    }

    static func reference(_ place: JSONPointer) -> JSONValue {
        .object(["$ref": .string("#" + PercentEncoding.fragment.escape(place.description))])
    }

    // MARK: body

    mutating func readBody(_ operation: JSONObject, _ run: inout OpenAPIImport) {
        guard let written = operation["requestBody"] else { return }
        let at = pointer.appending(JSONPointer(member: "requestBody"))
        guard let (value, place) = run.followed(written, at), let body = value.object,
            let content = body["content"]?.object?.members, !content.isEmpty
        else { return run.note(at, "the body cannot be read: its reference leads nowhere, or it has no content") }
        let (media, kind) = Self.chosen(content)
        if content.count > 1 {
            let others = content.map(\.name).filter { $0 != media.name }.joined(separator: ", ")
            run.note(place, "the body is \(media.name); not offered are \(others)")
        }
        var target = ParameterPlace(.body)
        target.kind = kind
        if kind == .body { run.note(place, "\(media.name) is given as a Body, such as {\"file\": path}") }
        if kind != .multipart, media.name != "application/json", !media.name.contains("*") {
            target.contentType = media.name
        }
        let name = isTaken("body") ? "requestBody" : "body"
        endpoint.places[name] = target
        let holder = place.appending(JSONPointer(member: media.name).under(member: "content"))
        let isChecked = media.value.object?["schema"] != nil && (kind == .json || kind == .form)
        properties.append(
            .init(name, isChecked ? Self.reference(holder.appending(JSONPointer(member: "schema"))) : .bool(true)))
        if body["required"] == .bool(true) { required.append(.string(name)) }
        if media.value.object?["encoding"] != nil { run.note(holder, "encoding of single parts is not used") }
    }

    /// JSON before forms before texts before all else.
    private static func chosen(_ content: [JSONObject.Member]) -> (JSONObject.Member, ParameterPlace.BodyKind) {
        let kinds = content.map { ($0, kind($0.name)) }
        for wanted in [ParameterPlace.BodyKind.json, .form, .multipart, .text] {
            if let found = kinds.first(where: { $0.1 == wanted }) { return found }
        }
        return kinds[0]
    }

    private static func kind(_ media: String) -> ParameterPlace.BodyKind {
        let type = media.prefix { $0 != ";" }.lowercased()
        if type == "application/json" || type.hasSuffix("+json") || type == "*/*" { return .json }
        if type == "application/x-www-form-urlencoded" { return .form }
        if type == "multipart/form-data" { return .multipart }
        return type.hasPrefix("text/") ? .text : .body
    }

    // MARK: responses

    /// Which statuses and types count as success, and in which shape the body comes.
    mutating func readResponses(_ operation: JSONObject, _ run: inout OpenAPIImport) {
        var types: [String] = []
        for response in operation["responses"]?.object?.members ?? [] where response.name.hasPrefix("2") {
            let place = pointer.appending(JSONPointer(member: response.name).under(member: "responses"))
            guard let (value, _) = run.followed(response.value, place) else {
                run.note(place, "the response's reference leads nowhere")
                continue
            }
            for media in value.object?["content"]?.object?.members ?? [] where !types.contains(media.name) {
                types.append(media.name)
            }
        }
        guard !types.isEmpty else { return }
        let accept = types.joined(separator: ", ")
        if FieldRules.fault(inField: "Accept", accept) == nil {
            endpoint.options["headers"] = .array([RouterMerge.field("Accept", accept)])
        }
    }
}
