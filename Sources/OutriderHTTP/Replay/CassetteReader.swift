// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// Reads cassettes, and HAR files of other programs.
package enum CassetteReader {
    /// Why a file is no cassette.
    package struct Fault: Error, Sendable, Equatable {
        /// Follows the path and a colon; names line and byte.
        package var message: String

        fileprivate init(message: String) { self.message = message }

        /// - Parameter byte: of the file; the reason may count from a line.
        fileprivate init(line: Int, byte: Int, _ failure: JSONFailure, _ what: String = "") {
            let place = " at byte \(failure.offset)"
            let reason = failure.reason.hasSuffix(place) ? String(failure.reason.dropLast(place.count)) : failure.reason
            message = "line \(line), byte \(byte): \(what)\(reason)"
        }
    }

    package struct Contents: Sendable {
        package var entries: [CassetteEntry] = []
        /// The entries that cannot be played, by number from 1, and why.
        package var unusable: [(number: Int, reason: String)] = []
        /// Where the next entry is written, in bytes; nil for a file that has another form.
        package var end: Int?
        package var hasEntries: Bool { !entries.isEmpty || !unusable.isEmpty }

        package init() {}
    }

    static var limits: JSONLimits {
        var limits = JSONLimits()
        limits.tokens = 50_000_000
        limits.members = 1_000_000
        limits.hasLongIntegers = true
        return limits
    }

    private static let newline = UInt8(ascii: "\n")

    /// The bytes at the start of a file that tell an archive from another file.
    package static let recognized = 4096

    /// Whether a file that starts with these bytes may be replaced by a recording: it is empty, or an HTTP Archive.
    package static func mayReplace(_ start: [UInt8]) -> Bool {
        if start.isEmpty || isCutHead(start) { return true }
        let text = String(decoding: start.prefix(recognized), as: UTF8.self)
        let first = text.first { !$0.isWhitespace && $0 != "\u{FEFF}" }
        return first == "{" && text.contains("\"log\"")
    }

    package static func read(_ bytes: [UInt8]) throws(Fault) -> Contents {
        if bytes.isEmpty {
            var contents = Contents()
            contents.end = 0
            return contents
        }
        let start = bytes.prefix(512)
        // the first line of ours ends within the list; other programs may have put all on one line
        let isOurs =
            bytes.prefix { $0 != newline }.last == UInt8(ascii: "[")
            && start.firstRange(of: Array(#""name":"outrider""#.utf8)) != nil
            && start.firstRange(of: Array(#""_cassette""#.utf8)) != nil
        return isOurs || isCutHead(bytes) ? try lines(bytes) : try document(bytes)
    }

    /// Whether a crash may have cut the file off within its first line, which Outrider writes.
    private static func isCutHead(_ bytes: [UInt8]) -> Bool {
        let known = Array(#"{"log":{"version":"1.2","creator":{"name":"outrider""#.utf8)
        return bytes.count < 512 && !bytes.contains(newline) && (try? JSONParser.parse(bytes, limits: limits)) == nil
            && (known.starts(with: bytes) || bytes.starts(with: known))
    }

    // MARK: our form

    /// An entry a line. What a crash has cut off is left out.
    private static func lines(_ bytes: [UInt8]) throws(Fault) -> Contents {
        var contents = Contents()
        guard let first = bytes.firstIndex(of: newline) else {
            contents.end = 0
            return contents
        }
        try checkVersion(Array(bytes[..<first]) + Array("]}}".utf8))
        contents.end = first
        var (start, line) = (first + 1, 1)
        // where the comma of the last entry is missing
        var gap: Fault?
        while start < bytes.count {
            line += 1
            let end = bytes[start...].firstIndex(of: newline) ?? bytes.count
            defer { start = end + 1 }
            var text = bytes[start..<end]
            if text.first == UInt8(ascii: "]") { break }
            let hasComma = text.last == UInt8(ascii: ",")
            if hasComma { text = text.dropLast() }
            if text.isEmpty { continue }
            let json: JSONValue
            do throws(JSONFailure) {
                json = try JSONParser.parse(Array(text), limits: limits)
            } catch {
                // the last line was being written
                if end == bytes.count { break }
                throw Fault(line: line, byte: start + error.offset, error)
            }
            // other programs could not read what a recording adds to such a file
            if let gap { throw gap }
            if !hasComma { gap = Fault(message: "line \(line), byte \(text.endIndex): a comma must follow the entry") }
            add(json, to: &contents)
            contents.end = text.endIndex
        }
        return contents
    }

    private static func checkVersion(_ head: [UInt8]) throws(Fault) {
        let json: JSONValue
        do throws(JSONFailure) {
            json = try JSONParser.parse(head, limits: limits)
        } catch {
            throw Fault(line: 1, byte: error.offset, error)
        }
        try check(json)
    }

    private static func check(_ json: JSONValue) throws(Fault) {
        guard let version = json.object?["log"]?.object?["_cassette"]?.object?["version"]?.integer,
            version > CassetteWriter.version
        else { return }
        throw Fault(
            message: "the cassette has format \(version), and this version of outrider reads up to "
                + "\(CassetteWriter.version): use a newer outrider, or record it anew")
    }

    // MARK: other programs

    private static func document(_ bytes: [UInt8]) throws(Fault) -> Contents {
        // Firefox writes a byte order mark
        let mark = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        let json: JSONValue
        do throws(JSONFailure) {
            json = try JSONParser.parse(Array(bytes[mark...]), limits: limits)
        } catch {
            let offset = min(bytes.count, max(0, error.offset + mark))
            let line = bytes[..<offset].count { $0 == newline } + 1
            throw Fault(line: line, byte: offset, error, "no HAR file: ")
        }
        guard let log = json.object?["log"]?.object, let list = log["entries"]?.array else {
            throw Fault(message: "line 1, byte 0: no HAR file: it has no log with entries")
        }
        try check(json)
        var contents = Contents()
        for entry in list { add(entry, to: &contents) }
        return contents
    }

    /// The name of a body's file, which stands beside the cassette: a cassette of a stranger must not name other files.
    private static func file(of object: JSONObject?) throws(Fault) -> String? {
        guard let name = object?["_file"]?.string else { return nil }
        guard !name.isEmpty, !name.utf8.contains(0), !name.split(separator: "/").contains("..") else {
            throw Fault(message: "the file of its body is outside of the cassette's folder")
        }
        return name
    }

    // MARK: entries

    private static func add(_ json: JSONValue, to contents: inout Contents) {
        do throws(Fault) {
            contents.entries.append(try entry(json))
        } catch {
            let number = contents.entries.count + contents.unusable.count + 1
            if contents.unusable.count < 1000 { contents.unusable.append((number, error.message)) }
        }
    }

    /// The entry of a line; nil if there is none.
    package static func entry(_ line: [UInt8]) -> CassetteEntry? {
        guard let json = try? JSONParser.parse(line, limits: limits) else { return nil }
        return try? entry(json)
    }

    private static func entry(_ json: JSONValue) throws(Fault) -> CassetteEntry {
        guard let object = json.object, let request = object["request"]?.object,
            let response = object["response"]?.object
        else { throw Fault(message: "it has no request and response") }
        guard let method = request["method"]?.string, let url = request["url"]?.string.map(withoutFragment),
            url.contains("://")
        else { throw Fault(message: "its request has no method and URL") }
        let post = request["postData"]?.object
        var entry = CassetteEntry(
            ReplayRequest(
                method: method, url: normal(url), fields: fields(request["headers"]), body: try body(of: post))
        )
        entry.requestFile = try file(of: post)
        if let type = post?["mimeType"]?.string, !type.isEmpty, entry.request.contentType == nil {
            entry.request.fields.add("Content-Type", type)
        }
        entry.failure = object["_failure"].flatMap { CassetteFailure.read($0) }
        try readHead(response, object, &entry)
        if let wait = object["timings"]?.object?["wait"]?.number, wait > 0, wait.isFinite {
            entry.wait = min(wait, 86_400_000)
        }
        entry.chunks = object["_chunks"]?.array?.compactMap { chunk($0) } ?? []
        entry.trailers = fields(object["_trailers"])
        entry.messages = object["_webSocketMessages"]?.array?.compactMap { message($0) }
        if case .bool(true)? = object["_cut"] { entry.isCut = true }
        if case .bool(true)? = object["_coded"] { entry.isCoded = true }
        if entry.head?.status == 101, entry.messages == nil, isWebSocket(entry) {
            throw Fault(message: "its messages were not exported")
        }
        return entry
    }

    private static func isWebSocket(_ entry: CassetteEntry) -> Bool {
        // some programs leave the fields of the response out
        let upgrade = entry.head?.fields.first("Upgrade") ?? entry.request.fields.first("Upgrade")
        return upgrade.map { HTTPFields.same($0, "websocket") } ?? true
    }

    /// The URL as requests have it: other programs write default ports, hosts in Unicode, spaces and dot segments.
    private static func normal(_ url: String) -> String {
        let encoded = url.utf8.contains(0x20) ? url.replacing(" ", with: "%20") : url
        return (try? HTTPURL(parsing: encoded))?.description ?? url
    }

    /// Without its fragment; browsers name WebSockets by ws, requests here have http.
    private static func withoutFragment(_ url: String) -> String {
        let url = String(url.prefix { $0 != "#" })
        return url.hasPrefix("ws") ? URLPattern.withoutWebSocket(url) : url
    }

    private static func readHead(
        _ response: JSONObject, _ object: JSONObject, _ entry: inout CassetteEntry
    ) throws(Fault) {
        let status = response["status"]?.integer.flatMap { Int(exactly: $0) } ?? 0
        guard (100...999).contains(status) else {
            if entry.failure != nil { return }
            let text = ["_error", "_failureText"].lazy.compactMap { response[$0]?.string ?? object[$0]?.string }.first
            guard let text, !text.isEmpty else { throw Fault(message: "no response was recorded (status \(status))") }
            entry.failure = CassetteFailure.read(browser: text, URLParts(entry.request.url).origin)
            return
        }
        var version = response["httpVersion"]?.string?.lowercased() ?? ""
        let isLater = version.contains("2") || version == "h3" || version.hasSuffix("/3")
        version = isLater ? "2" : version.hasSuffix("1.0") ? "1.0" : "1.1"
        var fields = fields(response["headers"])
        fields.remove("Transfer-Encoding")
        entry.head = AttemptScript.Head(
            status: status, reason: response["statusText"]?.string ?? "", version: version, fields: fields)
        let content = response["content"]?.object
        entry.bodyFile = try file(of: content)
        entry.body = try body(of: content)
        if entry.bodyFile == nil, content?["text"] == nil, let size = content?["size"]?.integer, size > 0,
            entry.request.method != "HEAD", !(300..<400).contains(status), entry.failure == nil
        {
            throw Fault(message: "its body of \(size) bytes was not exported: export with contents")
        }
    }

    private static func body(of content: JSONObject?) throws(Fault) -> [UInt8] {
        guard let content else { return [] }
        guard let text = content["text"]?.string else {
            guard let list = content["params"]?.array else { return [] }
            let pairs = list.compactMap { item -> String? in
                guard let name = item.object?["name"]?.string else { return nil }
                return PercentEncoding.form.escape(name) + "="
                    + PercentEncoding.form.escape(item.object?["value"]?.string ?? "")
            }
            return Array(pairs.joined(separator: "&").utf8)
        }
        guard content["encoding"]?.string?.lowercased() == "base64" else {
            return latin(text, content) ?? Array(text.utf8)
        }
        guard let bytes = Base64.decode(text.filter { !$0.isWhitespace }) else {
            throw Fault(message: "its body is no base64")
        }
        return bytes
    }

    /// The bytes of a body that mitmproxy wrote with a character for each byte, which the size tells; nil for others.
    private static func latin(_ text: String, _ content: JSONObject) -> [UInt8]? {
        guard let size = content["size"]?.integer, size != text.utf8.count, size == text.unicodeScalars.count,
            text.unicodeScalars.allSatisfy({ $0.value <= 0xFF })
        else { return nil }
        let type = content["mimeType"]?.string.flatMap(MediaType.init(parsing:))
        let isUnicode = type?.subtype == "json" || type?[parameter: "charset"]?.lowercased() == "utf-8"
        return isUnicode ? nil : text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    }

    /// Fields, without the pseudo-header fields that Chrome lists.
    private static func fields(_ json: JSONValue?) -> HTTPFields {
        var fields = HTTPFields()
        for item in json?.array ?? [] {
            guard let name = item.object?["name"]?.string, let value = item.object?["value"]?.string,
                !name.hasPrefix(":"), FieldRules.isToken(name)
            else { continue }
            // browsers join repeated fields by line breaks
            for part in value.split(separator: "\n", omittingEmptySubsequences: false) {
                fields.add(name, String(FieldRules.trimmed(part)))
            }
        }
        return fields
    }

    private static func chunk(_ json: JSONValue) -> CassetteEntry.Chunk? {
        guard let pair = json.array, pair.count == 2, let time = pair[0].number, time.isFinite,
            let count = pair[1].integer.flatMap({ Int(exactly: $0) }), count >= 0
        else { return nil }
        return CassetteEntry.Chunk(time: min(max(0, time), 86_400_000), count: count)
    }

    private static func message(_ json: JSONValue) -> ReplayMessage? {
        guard let object = json.object, let type = object["type"]?.string, type == "send" || type == "receive",
            let opcode = object["opcode"]?.integer.flatMap({ UInt8(exactly: $0) }), let data = object["data"]?.string
        else { return nil }
        let bytes = opcode == 1 ? Array(data.utf8) : Base64.decode(data)
        guard let bytes else { return nil }
        return ReplayMessage(isSent: type == "send", opcode: opcode, bytes: bytes, time: object["time"]?.number ?? 0)
    }
}
