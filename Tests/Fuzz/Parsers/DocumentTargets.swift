// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

@testable import OutriderHTTP
@testable import OutriderJSON
@testable import OutriderYAML

// MARK: streams

private func found(_ pieces: [[UInt8]]) -> (events: [ServerSentEvent], last: String, retry: Double?, failed: Bool) {
    var scanner = EventStreamScanner(lastEventID: "0", limit: 64)
    var events: [ServerSentEvent] = []
    var spans = 0
    var size = 0
    for piece in pieces {
        scanner.feed(piece)
        size += piece.count
        do throws(HTTPFailure) {
            while try scanner.find() {
                events.append(scanner.event)
                spans += scanner.span
            }
        } catch {
            return (events, scanner.lastEventID, scanner.reconnectionTime, true)
        }
        expect(spans + scanner.held == size, "\(spans) and \(scanner.held) bytes of \(size)")
    }
    return (events, scanner.lastEventID, scanner.reconnectionTime, false)
}

func sse(_ input: Input) {
    let (whole, pieces) = (found([input.bytes]), found(input.pieces))
    expect(whole.events == pieces.events, "cut otherwise: \(whole.events) and \(pieces.events)")
    expect(whole.last == pieces.last && whole.retry == pieces.retry, "another id or time: \(whole) and \(pieces)")
    expect(whole.failed == pieces.failed, "too long in one way only")
}

/// The items of a body, as texts.
private func found(_ scanner: some ItemScanner, _ pieces: [[UInt8]], _ type: String?) -> [String] {
    var scanner = scanner
    var found: [String] = []
    var size = 0
    do throws(HTTPFailure) {
        try scanner.begin(contentType: type)
        for index in 0...pieces.count {
            if index < pieces.count { scanner.feed(pieces[index]) } else { scanner.end() }
            while true {
                let isThere = scanner.hasNext()
                guard let item = try scanner.next(within: ItemBudget(bytes: 1 << 20)) else {
                    expect(!isThere, "an item is promised, and does not come")
                    break
                }
                expect(isThere, "an item that was not promised")
                size += item.bytes
                var content = item.content
                if case .unmade(let work) = content {
                    content = work()
                    scanner.made(content)
                }
                found.append(shown(content))
            }
        }
    } catch {
        return found + ["failed \(error.kind)"]
    }
    expect(size + scanner.held <= pieces.reduce(0) { $0 + $1.count }, "more bytes than there are")
    return found
}

private func shown(_ content: StreamItem.Content) -> String {
    switch content {
    case .data(let bytes): "data \(bytes)"
    case .text(let text), .value(let text), .members(let text), .state(let text):
        String(decoding: text.bytes, as: UTF8.self)
    case .failed(let failure): "failed \(failure.kind)"
    case .unmade: "unmade"
    }
}

func items(_ input: Input) {
    let types = [nil, "text/plain; charset=utf-8", "application/json", "text/plain; charset=shift_jis"]
    let type = types[Int(input.hash % 4)]
    let scanners: [any ItemScanner] = [
        JSONItems(longest: 64), LineItems(longest: 64), LineItems(.json, longest: 64), FrameItems(.uint32, longest: 64),
        FrameItems(.uint16, longest: 64), FrameItems(.varint, longest: 64),
    ]
    for scanner in scanners {
        let (whole, pieces) = (found(scanner, [input.bytes], type), found(scanner, input.pieces, type))
        expect(whole == pieces, "\(scanner): cut otherwise: \(whole) and \(pieces)")
    }
}

// MARK: documents

func yaml(_ input: Input) {
    var limits = YAMLLimits()
    limits.depth = 12
    limits.values = 4000
    limits.text = 64 << 10
    guard let value = try? YAMLDocument.parse(input.bytes, limits: limits) else { return }
    _ = YAMLDocument.line(of: JSONPointer(index: 0), in: input.bytes)
    // what is written as JSON is YAML, too, but for long keys and characters that YAML wants escaped
    let written = JSONWriter.bytes(of: value)
    guard written.count < 1000, written.allSatisfy({ (0x20...0x7E).contains($0) }) else { return }
    // JSON escapes a character beyond U+FFFF as two surrogates, which YAML does not join
    if written.firstRange(of: Array("\\ud".utf8)) == nil {
        let again = Result { () throws(YAMLFault) in try YAMLDocument.parse(written, limits: limits) }
        expect((try? again.get()) == value, "read again: \(again), and not \(written.shown)")
    }
    // a name with a zero is one in YAML only
    if written.firstRange(of: Array("\\u0000".utf8)) != nil { return }
    var wide = JSONLimits()
    wide.hasLongIntegers = true
    expect((try? JSONParser.parse(written, limits: wide)) != nil, "no JSON: \(written.shown)")
}

func xml(_ input: Input) {
    guard let root = XMLScanner.scan(input.bytes) else { return }
    let written = Array(shown(root).utf8)
    // references are longer than their characters
    guard written.count <= 64 << 10 else { return }
    expect(XMLScanner.scan(written) == root, "read again it is something else: \(written.shown)")
}

private func shown(_ element: XMLElement) -> String {
    var text = ""
    for scalar in element.text.unicodeScalars {
        text += scalar == "&" ? "&amp;" : scalar == "<" ? "&lt;" : String(Character(scalar))
    }
    // the prefix of a name space, which is not kept, may be all that makes it a name
    let isName = element.name.utf8.first.map { !"0123456789-.".utf8.contains($0) } ?? false
    let name = (isName ? "" : "x:") + element.name
    return "<\(name)>\(text)\(element.children.map(shown).joined())</\(name)>"
}

func propertyList(_ input: Input) {
    guard let text = try? PropertyListReading.json(input.bytes) else { return }
    // names that occur twice, long integers and depth have limits of their own in JSON
    guard let value = try? JSONParser.parse(text.bytes) else { return }
    guard let list = try? PropertyList(value) else { return }
    var binary = BinaryPropertyListWriter()
    let again = try? PropertyListReading.json(binary.document(list))
    let shown = again?.bytes.shown ?? "nothing"
    expect(again?.bytes == text.bytes, "in binary and read again: \(shown), not \(text.bytes.shown)")
}

/// The scanner of secrets beside the parser of all JSON; a text that is cut off never has other tokens.
func tokens(_ input: Input) {
    let outcome = TokenResponseScanner.scan(input.bytes)
    guard case .whole(let response) = outcome else { return }
    let bytes = input.bytes.starts(with: TokenResponseScanner.mark) ? Array(input.bytes.dropFirst(3)) : input.bytes
    if response.fault == nil, let value = try? JSONParser.parse(bytes), case .object(let object) = value {
        expect((object["access_token"]?.string ?? "") == (response.accessToken?.exposed ?? ""), "another access token")
        expect(
            (object["refresh_token"]?.string ?? "") == (response.refreshToken?.exposed ?? ""), "another refresh token")
    }
    let end = Int(input.hash % UInt64(input.bytes.count + 1))
    // half of a byte order mark is no text
    if end < TokenResponseScanner.mark.count, bytes.count < input.bytes.count { return }
    switch TokenResponseScanner.scan(Array(input.bytes[..<end])) {
    case .malformed: expect(false, "the first \(end) bytes are malformed")
    case .whole(let other): expect(other == response, "the first \(end) bytes have another response")
    case .cut(let other):
        expect(other.accessToken == nil || other.accessToken == response.accessToken, "another token in \(end) bytes")
    }
}

func cassettes(_ input: Input) {
    // the list of entries, in a file of ours and in one of others
    let head = CassetteWriter.head(program: "1.0")
    for bytes in [input.bytes, head + [0x0A] + input.bytes + CassetteWriter.tail] {
        guard let contents = try? CassetteReader.read(bytes) else { continue }
        expect(contents.end.map { (0...bytes.count).contains($0) } ?? true, "it ends outside of the file")
        guard !contents.entries.isEmpty else { continue }
        let lines = contents.entries.map { CassetteWriter.line($0, time: "2026-01-01T00:00:00.000Z") }
        let written = head + [0x0A] + Array(lines.joined(separator: Array(",\n".utf8))) + CassetteWriter.tail
        guard let again = try? CassetteReader.read(written) else {
            return expect(false, "what is written is no cassette: \(written.shown)")
        }
        expect(again.unusable.isEmpty, "an entry that cannot be played: \(again.unusable)")
        for (one, other) in zip(contents.entries, again.entries) {
            expect(one.head?.status == other.head?.status && one.request.method == other.request.method, "another head")
            if one.bodyFile == nil { expect(one.body == other.body, "another body: \(other.body.shown)") }
            _ = AttemptScript(one, body: one.body, .factor(1), key: "x")
        }
        let counts = (contents.entries.count, again.entries.count)
        expect(counts.0 == counts.1, "\(counts.1) entries, not \(counts.0)")
    }
}

/// Certificates, lists of revoked ones, responses about them, and the hello of a server.
func certificates(_ input: Input) {
    if let certificate = CertificateScanner(input.bytes) { _ = "\(certificate)" }
    if let list = CRLScanner(input.bytes) { _ = "\(list)" }
    if let response = OCSPResponse(input.bytes) { _ = "\(response)" }
    for block in PEMBlock.all(in: input.bytes) { expect(block.bytes.count <= input.bytes.count, "a block that grew") }
    var hello = ServerHelloScanner()
    let whole = hello.scan(input.bytes)
    var other = ServerHelloScanner()
    var last = ServerHelloScanner.Outcome.more
    for piece in input.pieces where last == .more { last = other.scan(piece) }
    // bytes behind the hello count in the one piece, and are never seen in several
    expect(whole == last || last != .more && whole == .unreadable, "cut otherwise: \(whole) and \(last)")
}
