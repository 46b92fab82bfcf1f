// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// How secrets are masked before they reach a cassette, and in requests that are compared with one.
///
/// Values are masked by the names of fields, parameters, members and cookies, as in archives; and values that this service
/// holds (`SecretValues`) wherever they occur.
package struct CassetteMask: Sendable {
    package var names = SecretNames()
    /// Members of JSON bodies, as RFC 6901 pointers.
    package var pointers: [String] = []
    package var values = SecretValues()

    package init() {}

    // MARK: learning

    /// Whether no field of a request has a secret.
    package func lacksSecrets(_ fields: HTTPFields) -> Bool { !fields.list.contains { names.isSecret(field: $0.name) } }

    /// The secrets of a request, which are replaced wherever they occur.
    package func secrets(of request: ReplayRequest) -> FoundSecrets {
        var found = FoundSecrets()
        find(in: request.fields, &found)
        find(inURL: request.url, &found)
        find(in: request.body, request.contentType, &found)
        return found
    }

    /// The secrets of a response: tokens that a server gave are used by later requests.
    package func secrets(of fields: HTTPFields, body: [UInt8]) -> FoundSecrets {
        var found = FoundSecrets()
        find(in: fields, &found)
        find(in: body, fields.first("Content-Type"), &found)
        return found
    }

    private static let mostLearned = 256 << 10

    /// The credentials of a URL, and parameters of its query and its fragment.
    private func find(inURL url: String, _ found: inout FoundSecrets) {
        if let at = Redaction.credentials(of: url) {
            for part in at.utf8.split(separator: UInt8(ascii: ":")) {
                found.add(String(decoding: PercentEncoding.decode(part), as: UTF8.self))
            }
        }
        for part in url.utf8.split(whereSeparator: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }).dropFirst() {
            for pair in Self.pairs(of: Array(part)) where holdsSecret(pair.name) { found.add(pair.value) }
        }
    }

    /// Fields whose value is a URL.
    private static let urls = ["Location", "Content-Location", "Referer"]

    private func find(in fields: HTTPFields, _ found: inout FoundSecrets) {
        for name in Self.urls { for url in fields.all(name) { find(inURL: url, &found) } }
        for field in fields.list where names.isSecret(field: field.name) {
            let lower = field.name.lowercased()
            switch lower {
            case "cookie":
                for cookie in ShownCookie.sent([field]) { found.add(cookie.value, shortest: 8) }
            case "set-cookie":
                for cookie in ShownCookie.received([field]) { found.add(cookie.value, shortest: 8) }
            case "authorization", "proxy-authorization":
                let parts = field.value.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
                guard let credential = parts.last.map({ String(Substring($0)) }) else { continue }
                found.add(credential)
                guard parts.count == 2, HTTPFields.same(String(Substring(parts[0])), "Basic"),
                    let bytes = Base64.decode(credential),
                    let login = String(validating: bytes, as: UTF8.self),
                    let colon = login.utf8.firstIndex(of: UInt8(ascii: ":"))
                else { continue }
                let password = login.utf8[login.utf8.index(after: colon)...]
                found.add(username: String(login[..<colon]), password: String(Substring(password)))
            default: found.add(field.value, shortest: 8)
            }
        }
    }

    private func find(in body: [UInt8], _ contentType: String?, _ found: inout FoundSecrets) {
        guard !body.isEmpty, body.count <= Self.mostLearned else { return }
        let type = contentType.flatMap(MediaType.init(parsing:))
        let body = WideText.narrowed(body, type)?.text ?? body
        if let type, type.subtype == "form-data" {
            var parts: [[UInt8]] = []
            MultipartMask.masked(body, type[parameter: "boundary"], names) { name, value in
                if holdsSecret(name) { found.add(String(decoding: value, as: UTF8.self)) }
            } foundJSON: { part in
                parts.append(Array(part))
            }
            return parts.forEach { find(inJSON: $0, &found) }
        }
        if let type, StreamPart.isStream(type) {
            var start = 0
            while start < body.count {
                let end = StreamPart.end(in: body, from: start, isEvents: StreamPart.isEvents(type))
                find(inJSON: StreamPart(Array(body[start..<end])).json, &found)
                start = end
            }
            return
        }
        if type?.subtype == "x-www-form-urlencoded" {
            for pair in Self.pairs(of: body) where holdsSecret(pair.name) { found.add(pair.value) }
        }
        if JSONRedaction.applies(to: body, type) { find(inJSON: body, &found) }
    }

    private func find(inJSON bytes: [UInt8], _ found: inout FoundSecrets) {
        guard let json = try? JSONParser.parse(bytes, limits: CassetteReader.limits) else { return }
        find(in: json, name: nil, depth: 0, &found)
        for pointer in pointers {
            json.forEach(at: pointer) { value in if let text = value.string { found.add(text) } }
        }
    }

    private func find(in json: JSONValue, name: String?, depth: Int, _ found: inout FoundSecrets) {
        guard depth < 32 else { return }
        switch json {
        case .object(let object):
            for member in object.members { find(in: member.value, name: member.name, depth: depth + 1, &found) }
        case .array(let list): for item in list { find(in: item, name: name, depth: depth + 1, &found) }
        case .string(let text):
            if let name, holdsSecret(name) {
                found.add(text)
            } else {
                for url in Redaction.urls(in: text) { find(inURL: url, &found) }
            }
        default: break
        }
    }

    /// Names of secrets that programs carry elsewhere; others, such as `key`, have values that occur by chance.
    private func holdsSecret(_ name: String) -> Bool {
        let lower = name.lowercased()
        if names.isShown(name) || SecretFields.isHarmless(lower) { return false }
        if names.parameters.contains(lower) { return true }
        return Self.telling.findsAny(in: lower) || lower == "device_code"
    }

    private static let telling = WordFinder([
        "token", "secret", "password", "passwd", "assertion", "api_key", "apikey", "api-key", "verifier",
    ])

    private static func pairs(of form: [UInt8]) -> [(name: String, value: String)] { QueryPairs.of(form: form) }

    // MARK: masking

    /// The request without its secrets.
    package func masked(_ request: ReplayRequest) -> ReplayRequest {
        ReplayRequest(
            method: request.method, url: url(request.url), fields: fields(request.fields),
            body: body(request.body, request.contentType))
    }

    package func url(_ text: String) -> String { values.replaced(Redaction.masked(text, names)) }

    /// Cookies keep their names, and credentials their scheme.
    package func fields(_ fields: HTTPFields) -> HTTPFields {
        HTTPFields(fields.list.map { HTTPFields.Field($0.name, value(of: $0)) })
    }

    private func value(of field: HTTPFields.Field) -> String {
        guard names.isSecret(field: field.name) else {
            return values.replaced(Redaction.masked(field, names) ?? field.value)
        }
        switch field.name.lowercased() {
        case "cookie": return Self.cookies(field.value)
        case "set-cookie":
            let end = field.value.utf8.firstIndex(of: UInt8(ascii: ";")) ?? field.value.endIndex
            return Self.cookies(String(field.value[..<end])) + values.replaced(String(field.value[end...]))
        case "authorization", "proxy-authorization":
            let scheme = field.value.prefix { $0 != " " }
            return scheme.count < field.value.count ? "\(scheme) \(SecretFields.mask)" : SecretFields.mask
        default: return SecretFields.mask
        }
    }

    private static func cookies(_ text: String) -> String {
        text.utf8.split(separator: UInt8(ascii: ";")).map { pair in
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")) else { return SecretFields.mask }
            return String(Substring(pair[...equals])) + SecretFields.mask
        }.joined(separator: ";")
    }

    /// A body by its type: forms, JSON, parts of a form, lines of streams; in all of them known values.
    package func body(_ bytes: [UInt8], _ contentType: String?) -> [UInt8] {
        guard !bytes.isEmpty else { return bytes }
        let type = contentType.flatMap(MediaType.init(parsing:))
        return WideText.changed(bytes, type) { narrow($0, type) } ?? narrow(bytes, type)
    }

    private func narrow(_ bytes: [UInt8], _ type: MediaType?) -> [UInt8] {
        var result = bytes
        if let type, type.subtype == "form-data" {
            result = MultipartMask.masked(bytes, type[parameter: "boundary"], names) ?? bytes
        } else if let type, StreamPart.isStream(type) {
            result = stream(bytes, isEvents: StreamPart.isEvents(type))
        } else if type?.isJSON == true {
            result = json(bytes)
        } else {
            if JSONRedaction.applies(to: bytes, type) { result = JSONRedaction.masked(bytes, names) ?? bytes }
            if type?.subtype == "x-www-form-urlencoded" { result = Redaction.masked(form: result, names) ?? result }
        }
        return values.replaced(result) ?? result
    }

    /// Whether secrets can be found in a body as it is. An unknown coding hides them, unless the body is the text
    /// that its type names: some servers write a charset, or `none`, into Content-Encoding.
    package static func reads(_ body: [UInt8], of fields: HTTPFields) -> Bool {
        guard !body.isEmpty, ContentCoding.layers(fields.all("Content-Encoding")) == nil else { return true }
        guard String(validating: body, as: UTF8.self) != nil else { return false }
        let type = fields.first("Content-Type").flatMap(MediaType.init(parsing:))
        guard let type, type.subtype == "json" || type.subtype.hasSuffix("+json") else { return true }
        return (try? JSONParser.parse(body, limits: CassetteReader.limits)) != nil
    }

    /// Whether bodies of the type are searched for secret names.
    package func searches(_ contentType: String?) -> Bool {
        guard let type = contentType.flatMap(MediaType.init(parsing:)) else { return false }
        return ["x-www-form-urlencoded", "form-data", "json"].contains(type.subtype)
            || type.subtype.hasSuffix("+json") || StreamPart.isStream(type)
    }

    private func stream(_ bytes: [UInt8], isEvents: Bool) -> [UInt8] {
        var result: [UInt8] = []
        var start = 0
        while start < bytes.count {
            let end = StreamPart.end(in: bytes, from: start, isEvents: isEvents)
            let hasBreak = bytes[end - 1] == UInt8(ascii: "\n")
            result += line(Array(bytes[start..<(hasBreak ? end - 1 : end)]))
            if hasBreak { result.append(UInt8(ascii: "\n")) }
            start = end
        }
        return result
    }

    /// A part of a stream, or a message of a WebSocket: JSON in it is masked by its names, and by pointers.
    package func line(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(where: { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "[") }) else {
            return values.replaced(bytes) ?? bytes
        }
        var result = JSONRedaction.masked(bytes, names) ?? bytes
        if !pointers.isEmpty {
            let part = StreamPart(result)
            if let json = pointed(part.json) { result = part.with(json) }
        }
        return values.replaced(result) ?? result
    }

    /// A message of a WebSocket: text and reasons as lines, bytes by known values.
    package func message(_ bytes: [UInt8], opcode: UInt8) -> [UInt8] {
        switch opcode {
        case 1, 8: line(bytes)
        case 2: values.replaced(bytes) ?? bytes
        default: bytes
        }
    }

    package func masked(_ message: ReplayMessage) -> ReplayMessage {
        var message = message
        message.bytes = self.message(message.bytes, opcode: message.opcode)
        return message
    }

    /// JSON whose members are masked by pointers; nil if it has none of them, or is no JSON.
    private func pointed(_ bytes: [UInt8]) -> [UInt8]? {
        guard var value = try? JSONParser.parse(bytes, limits: CassetteReader.limits) else { return nil }
        var isChanged = false
        for pointer in pointers where value.replace(at: pointer, with: .string(SecretFields.mask)) { isChanged = true }
        return isChanged ? JSONWriter.bytes(of: value) : nil
    }

    private func json(_ bytes: [UInt8]) -> [UInt8] {
        var result = JSONRedaction.masked(bytes, names) ?? bytes
        if pointers.isEmpty { return result }
        // a body that cannot be searched is not written
        guard var value = try? JSONParser.parse(result, limits: CassetteReader.limits) else {
            return Array(SecretFields.mask.utf8)
        }
        var isChanged = false
        for pointer in pointers where value.replace(at: pointer, with: .string(SecretFields.mask)) { isChanged = true }
        if isChanged { result = JSONWriter.bytes(of: value) }
        return result
    }
}

extension JSONValue {
    /// The values that an RFC 6901 pointer names, where `*` stands for each element.
    func forEach(at pointer: String, _ work: (JSONValue) -> Void) {
        guard pointer.hasPrefix("/") else { return }
        forEach(Self.tokens(of: pointer)[...], work)
    }

    private func forEach(_ tokens: ArraySlice<String>, _ work: (JSONValue) -> Void) {
        guard let token = tokens.first else { return work(self) }
        switch self {
        case .object(let object): object[token]?.forEach(tokens.dropFirst(), work)
        case .array(let list) where token == "*": for item in list { item.forEach(tokens.dropFirst(), work) }
        case .array(let list):
            if let index = Int(token), list.indices.contains(index) { list[index].forEach(tokens.dropFirst(), work) }
        default: break
        }
    }

    static func tokens(of pointer: String) -> [String] {
        pointer.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map { token in
            String(token).replacing("~1", with: "/").replacing("~0", with: "~")
        }
    }

    /// Puts a value in the place that an RFC 6901 pointer names. False if there is none.
    mutating func replace(at pointer: String, with value: JSONValue) -> Bool {
        guard pointer.hasPrefix("/") else { return false }
        return replace(Self.tokens(of: pointer)[...], value)
    }

    private mutating func replace(_ tokens: ArraySlice<String>, _ value: JSONValue) -> Bool {
        guard let token = tokens.first else {
            self = value
            return true
        }
        switch self {
        case .object(var object):
            guard var member = object[token], member.replace(tokens.dropFirst(), value) else { return false }
            object[token] = member
            self = .object(object)
            return true
        case .array(var list):
            if token == "*" {
                var isChanged = false
                for index in list.indices where list[index].replace(tokens.dropFirst(), value) { isChanged = true }
                self = .array(list)
                return isChanged
            }
            guard let index = Int(token), list.indices.contains(index) else { return false }
            guard list[index].replace(tokens.dropFirst(), value) else { return false }
            self = .array(list)
            return true
        default: return false
        }
    }
}
