// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@testable import OutriderHTTP

/// What is found in a body, however it is cut.
struct ItemScannerTests {
    /// The items as short texts: lines and text in quotes, bytes in brackets, what is wrong as its kind.
    private static func items(
        _ pieces: [[UInt8]], _ scanner: any ItemScanner, contentType: String? = nil, budget: Int = .max
    ) -> [String] {
        var scanner = scanner
        var found: [String] = []
        var taken = 0
        func drain() -> Bool {
            do throws(HTTPFailure) {
                while scanner.hasNext() {
                    guard var item = try scanner.next(within: ItemBudget(bytes: budget)) else {
                        Issue.record("an item was promised and is not there")
                        return false
                    }
                    if case .unmade(let work) = item.content {
                        item.content = work()
                        scanner.made(item.content)
                    }
                    taken += item.bytes
                    found.append(shown(item))
                }
                let more = try scanner.next(within: ItemBudget(bytes: budget))
                #expect(more?.bytes == nil)
                return true
            } catch {
                found.append("ends with \(error.kind)")
                return false
            }
        }
        do throws(HTTPFailure) { try scanner.begin(contentType: contentType) } catch { return ["\(error.kind)"] }
        for piece in pieces {
            scanner.feed(piece)
            guard drain() else { return found }
        }
        scanner.end()
        if drain() { #expect(taken <= pieces.reduce(0) { $0 + $1.count }) }
        return found
    }

    private static func shown(_ item: StreamItem) -> String {
        switch item.content {
        case .data(let bytes): "\(bytes)"
        case .text(let text), .value(let text), .members(let text): String(decoding: text.bytes, as: UTF8.self)
        case .failed(let failure): "\(failure.kind)"
        case .unmade: "unmade"
        case .state(let text): String(decoding: text.bytes, as: UTF8.self)
        }
    }

    /// Whole, in single bytes, and cut in two at every place.
    private static func check(
        _ body: [UInt8], _ scanner: any ItemScanner, _ expected: [String], contentType: String? = nil,
        location: SourceLocation = #_sourceLocation
    ) {
        let whole = items([body], scanner, contentType: contentType)
        #expect(whole == expected, sourceLocation: location)
        let single = items(body.map { [$0] }, scanner, contentType: contentType)
        #expect(single == expected, "in single bytes", sourceLocation: location)
        for cut in 0...body.count {
            let halves = items([Array(body[..<cut]), Array(body[cut...])], scanner, contentType: contentType)
            #expect(halves == expected, "cut at \(cut)", sourceLocation: location)
        }
    }

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    // MARK: lines

    @Test(arguments: [
        ("", []), ("a", [#""a""#]), ("a\n", [#""a""#]), ("\n", [#""""#]), ("a\nb", [#""a""#, #""b""#]),
        ("a\r\nb\rc\n\r\nd\r", [#""a""#, #""b""#, #""c""#, #""""#, #""d""#]), ("\r\r\n\n", [#""""#, #""""#, #""""#]),
        ("\n\r", [#""""#, #""""#]), ("über\nn€\n\u{1F600}\n", [#""\u00fcber""#, #""n\u20ac""#, #""\ud83d\ude00""#]),
        ("\u{FEFF}a\n", [#""a""#]), ("a\u{2028}b\u{85}c\n", [#""a\u2028b\u0085c""#]),
    ])
    func `lines end with LF, CR or both`(_ body: String, _ lines: [String]) {
        Self.check(Self.bytes(body), LineItems(), lines)
    }

    @Test func `a line that ends with CR is there before anything follows`() throws {
        var scanner = LineItems()
        scanner.begin(contentType: nil)
        scanner.feed(Self.bytes("50 %\r"))
        let first = try scanner.next(within: ItemBudget(bytes: 1))
        #expect(first.map(Self.shown) == #""50 %""#)
        scanner.feed(Self.bytes("\n75 %\r"))
        let second = try scanner.next(within: ItemBudget(bytes: 1))
        #expect(second.map(Self.shown) == #""75 %""#)
    }

    @Test func `a LF behind a CR that ended a line is a late end, alone and not with more bytes`() throws {
        var scanner = LineItems()
        scanner.feed(Self.bytes("go\r"))
        #expect(scanner.lateEnd == 0)
        #expect(try scanner.next(within: ItemBudget(bytes: 100))?.bytes == 3)
        #expect(scanner.lateEnd == 0)
        scanner.feed(Self.bytes("\n"))
        #expect(scanner.lateEnd == 1)
        let hasNext = scanner.hasNext()
        #expect(!hasNext && scanner.lateEnd == 1)
        scanner.feed(Self.bytes("x"))
        #expect(scanner.lateEnd == 0)
        var other = LineItems()
        other.feed(Self.bytes("go\r\n\n"))
        #expect(try other.next(within: ItemBudget(bytes: 100))?.bytes == 4)
        #expect(other.lateEnd == 0)
    }

    @Test func `lines are in the charset of the response, or in that which is wanted`() {
        let latin: [UInt8] = [0xFC, 0x0A, 0xE9]
        Self.check(latin, LineItems(), [#""\u00fc""#, #""\u00e9""#], contentType: "text/plain; charset=iso-8859-1")
        Self.check(latin, LineItems(.text(charset: "latin1")), [#""\u00fc""#, #""\u00e9""#])
        Self.check(latin, LineItems(), [#""\ufffd""#, #""\ufffd""#])
        let wide = Array("a\r\nü\n€".utf16)
        let low = wide.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        let high = wide.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        let lines = [#""a""#, #""\u00fc""#, #""\u20ac""#]
        Self.check(low, LineItems(), lines, contentType: "text/plain; charset=utf-16le")
        Self.check([0xFE, 0xFF] + high, LineItems(), lines)
        Self.check([0xFE, 0xFF] + high, LineItems(.text(charset: "utf-16")), lines)
        Self.check([0xFF, 0xFE] + low, LineItems(), lines)
        let long: [UInt8] = wide.flatMap { [0, 0, UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        Self.check([0, 0, 0xFE, 0xFF] + long, LineItems(), lines)
        Self.check(long, LineItems(.text(charset: "utf-32be")), lines)
        // gbk: the second byte of a character is never a line end
        Self.check([0xC4, 0xE3, 0x0A, 0xBA, 0xC3], LineItems(.text(charset: "gbk")), [#""\u4f60""#, #""\u597d""#])
        Self.check([0x81, 0x0A, 0x41], LineItems(.text(charset: "gbk")), ["stringSerializationFailed", #""A""#])
        Self.check([0x41], LineItems(.text(charset: "klingon")), ["ends with stringSerializationFailed"])
    }

    @Test func `a line that holds U+0000 comes as bytes`() {
        Self.check([0x61, 0, 0x0A, 0x62], LineItems(), ["[97, 0]", #""b""#])
    }

    @Test func `a line that is too long ends the stream`() {
        Self.check(Self.bytes("abc\nabcd\nx\n"), LineItems(longest: 3), [#""abc""#, "ends with limitExceeded"])
        Self.check(Self.bytes("abc\nabcd"), LineItems(longest: 3), [#""abc""#, "ends with limitExceeded"])
        Self.check(Self.bytes("abc\r\nabc"), LineItems(longest: 3), [#""abc""#, #""abc""#])
    }

    // MARK: JSON

    @Test(arguments: [
        ("{\"a\":1}\n[2]\n3\n", [#"{"a":1}"#, "[2]", "3"]),
        (#"{"a":1}{"b":2}[3]"x"4"#, [#"{"a":1}"#, #"{"b":2}"#, "[3]", #""x""#, "4"]),
        ("", []), (" \r\n\t", []), ("1 2\n\n3", ["1", "2", "3"]), ("12", ["12"]),
        ("truefalse", ["jsonSerializationFailed"]),
        (#"{"a":"}\"]{"}[1]"#, [#"{"a":"}\"]{"}"#, "[1]"]), ("\u{1E}{\"a\":1}\n\u{1E}2\n", [#"{"a":1}"#, "2"]),
        ("\u{FEFF}1", ["1"]), (#"{"ü":"€"}"#, [#"{"\u00fc":"\u20ac"}"#]),
        ("[1.0,100000000000000000000,{\"a\":1,\"a\":2}]", ["[1.0,100000000000000000000,{\"a\":1,\"a\":2}]"]),
        ("{\"a\":\n1}", [#"{"a": 1}"#]), ("null\"\"", ["null", #""""#]),
    ])
    func `JSON values stand one after the other`(_ body: String, _ values: [String]) {
        Self.check(Self.bytes(body), JSONItems(), values)
    }

    @Test(arguments: [
        // behind its last bracket it goes on
        (#"{"a":tru}{"b":1}"#, ["jsonSerializationFailed", #"{"b":1}"#]),
        (#"["\x"] 2"#, ["jsonSerializationFailed", "2"]),
        // otherwise behind the end of the line
        ("so on and so on\n{\"b\":1}", ["jsonSerializationFailed", #"{"b":1}"#]),
        ("{\"a\":1}} 5\n6", [#"{"a":1}"#, "jsonSerializationFailed", "6"]),
        ("1,2\r3", ["jsonSerializationFailed", "3"]),
        // what never ends
        ("1 {\"a\":", ["1", "jsonSerializationFailed"]), ("\"abc", ["jsonSerializationFailed"]),
        ("[\"]", ["jsonSerializationFailed"]),
        ("01", ["jsonSerializationFailed"]), ("\u{FEFF}\u{FEFF}1\n2", ["jsonSerializationFailed", "2"]),
    ])
    func `a value that is wrong is an error in its place`(_ body: String, _ values: [String]) {
        Self.check(Self.bytes(body), JSONItems(), values)
    }

    @Test(arguments: [
        ("\u{1E}{\"a\":\n\u{1E}{\"b\":1}\n\u{1E}2\n", ["jsonSerializationFailed", #"{"b":1}"#, "2"]),
        ("\u{1E}\"a\\\u{1E}[1]\u{1E}[\"", ["jsonSerializationFailed", "[1]", "jsonSerializationFailed"]),
        ("\u{1E}12\u{1E}34\n\u{1E}\u{1E}null ", ["jsonSerializationFailed", "34", "null"]),
        ("\u{1E}tr\u{1E}{}", ["jsonSerializationFailed", "{}"]),
        ("\u{1E}1 2\u{1E}\"x\"\u{1E}5", ["1", "2", #""x""#, "jsonSerializationFailed"]),
        ("{\u{1E}", ["jsonSerializationFailed"]),
    ])
    func `a record that breaks off takes nothing of the next record along`(_ body: String, _ values: [String]) {
        Self.check(Self.bytes(body), JSONItems(), values)
    }

    @Test func `what is not UTF-8 is no JSON`() {
        Self.check([0x22, 0xFF, 0x22, 0x0A, 0x31], JSONItems(), ["jsonSerializationFailed", "1"])
    }

    @Test func `JSON is nested so deep and no deeper, and so long and no longer`() {
        let deep = String(repeating: "[", count: 128) + String(repeating: "]", count: 128)
        Self.check(Self.bytes("[\(deep)]\(deep)"), JSONItems(), ["jsonSerializationFailed", deep])
        Self.check(Self.bytes("[1] [12]"), JSONItems(longest: 3), ["[1]", "ends with limitExceeded"])
        Self.check(Self.bytes("1 \"ab"), JSONItems(longest: 2), ["1", "ends with limitExceeded"])
    }

    @Test(arguments: [
        ("{\"a\":1}\n2\n", [#"{"a":1}"#, "2"]), ("\n \r\n1\r\n\t\n2", ["1", "2"]),
        ("{\"a\":\n{\"b\":1}\n", ["jsonSerializationFailed", #"{"b":1}"#]),
        ("1 2\n3\n", ["jsonSerializationFailed", "3"]),
        ("\u{FEFF}[]\n", ["[]"]),
    ])
    func `each line is a value`(_ body: String, _ values: [String]) {
        Self.check(Self.bytes(body), LineItems(.json), values)
    }

    // MARK: text

    @Test func `text is never cut within a character`() {
        let text = "aü€\u{1F600}z"
        let body = Self.bytes(text)
        for cut in 0...body.count {
            for budget in [1, 2, 3, 4, 5, 100] {
                let pieces = Self.items([Array(body[..<cut]), Array(body[cut...])], TextItems(), budget: budget)
                let written = pieces.map { $0.dropFirst().dropLast() }.joined()
                #expect(written == #"a\u00fc\u20ac\ud83d\ude00z"#, "cut at \(cut) with \(budget)")
            }
        }
    }

    @Test(arguments: [
        [0x61, 0xE2, 0x82, 0x41], [0xC3], [0xE2, 0x82], [0xF0, 0x9F, 0x98], [0xFF, 0x80], [0xE0, 0x80],
        [0xED, 0xA0, 0x80],
        [0xF4, 0x90, 0x80, 0x80], [0xC0, 0xAF], [0xEF, 0xBB], [0xF0, 0x9F, 0x41],
    ])
    func `what is not UTF-8 is replaced alike however it comes`(_ body: [UInt8]) {
        let expected = JSONWriter.text(String(decoding: body, as: UTF8.self)).dropFirst().dropLast()
        for pieces in [[body], body.map { [$0] }] + (0...body.count).map({ [Array(body[..<$0]), Array(body[$0...])] }) {
            let found = Self.items(pieces, TextItems()).map { $0.dropFirst().dropLast() }.joined()
            #expect(found == expected)
        }
    }

    @Test func `text in other charsets is cut between their characters`() {
        let wide: [UInt8] = [0x3D, 0xD8, 0x00, 0xDE, 0x61, 0x00]
        for cut in 0...wide.count {
            let found = Self.items(
                [Array(wide[..<cut]), Array(wide[cut...])], TextItems(charset: "utf-16le"), budget: 2)
            #expect(found.map { $0.dropFirst().dropLast() }.joined() == #"\ud83d\ude00a"#)
        }
        // East Asia: whole lines, and the rest at the end
        let gbk: [UInt8] = [0xC4, 0xE3, 0x0A, 0xBA, 0xC3]
        for cut in 0...gbk.count {
            let found = Self.items([Array(gbk[..<cut]), Array(gbk[cut...])], TextItems(charset: "gbk"))
            #expect(found.map { $0.dropFirst().dropLast() }.joined() == #"\u4f60\n\u597d"#)
        }
        let endless = Self.items([[UInt8](repeating: 0x41, count: 9)], TextItems(charset: "gbk", longest: 8))
        #expect(endless == ["ends with limitExceeded"])
    }

    @Test func `a piece of text fits into its message although its characters become longer`() throws {
        var scanner = TextItems()
        scanner.begin(contentType: nil)
        scanner.feed([UInt8](repeating: 1, count: 30_000))
        let found = try scanner.next(within: ItemBudget(bytes: 32768, written: 49152))
        let item = try #require(found)
        #expect(item.writtenBytes <= 49152)
        #expect(item.bytes > 8000)
    }

    // MARK: long items

    @Test func `a long item is left to others to make, and what follows it is found as ever`() throws {
        let long = "\"" + String(repeating: "a", count: StreamItem.mostAtOnce) + "\""
        let short = "\"" + String(repeating: "b", count: StreamItem.mostAtOnce - 2) + "\""
        // a word that is no value takes the rest of its line along, though that is known late
        let word = String(repeating: "c", count: StreamItem.mostAtOnce + 1)
        let body = Self.bytes("1 \(long)\(short)\(word) 2\n[3]\(long)")
        for cut in [0, 1, 2, 3, 70_000, 140_000, 200_000, body.count - 1, body.count] {
            let found = Self.items([Array(body[..<cut]), Array(body[cut...])], JSONItems())
            #expect(found == ["1", long, short, "jsonSerializationFailed", "[3]", long], "cut at \(cut)")
        }
        var scanner = JSONItems()
        scanner.feed(Self.bytes(short + long))
        let (first, second) = (try scanner.next(within: .init(bytes: 1)), try scanner.next(within: .init(bytes: 1)))
        if case .unmade = first?.content { Issue.record("64 KiB are not long") }
        guard case .unmade = second?.content else {
            Issue.record("more than 64 KiB are long")
            return
        }
        #expect(second?.bytes == long.utf8.count)
    }

    @Test func `long lines are left to others, too`() {
        let long = String(repeating: "a", count: StreamItem.mostAtOnce + 1)
        let body = Self.bytes("x\r\n\(long)\r\n\ny\n")
        for cut in [0, 1, 2, 3, 65_000, body.count - 4, body.count - 3, body.count - 2, body.count] {
            let found = Self.items([Array(body[..<cut]), Array(body[cut...])], LineItems())
            #expect(found == ["\"x\"", "\"\(long)\"", "\"\"", "\"y\""], "cut at \(cut)")
        }
        let values = Self.items([Self.bytes("[\"\(long)\"]\n\(long)\n1\n")], LineItems(.json))
        #expect(values == ["[\"\(long)\"]", "jsonSerializationFailed", "1"])
    }

    // MARK: frames

    @Test(arguments: [
        (FrameItems.Prefix.uint32, [0, 0, 0, 2, 7, 8, 0, 0, 0, 0]), (.uint32le, [2, 0, 0, 0, 7, 8, 0, 0, 0, 0]),
        (.uint16, [0, 2, 7, 8, 0, 0]), (.varint, [2, 7, 8, 0]), (.varint, [0x82, 0, 7, 8, 0x80, 0]),
    ])
    func `frames have their length before them`(_ prefix: FrameItems.Prefix, _ body: [UInt8]) {
        Self.check(body, FrameItems(prefix), ["[7, 8]", "[]"])
    }

    @Test func `a frame that is too long, or cut short, ends the stream`() {
        Self.check([1, 9, 3, 1, 2, 3], FrameItems(.varint, longest: 2), ["[9]", "ends with limitExceeded"])
        Self.check([0xFF, 0xFF, 0xFF, 0xFF, 1], FrameItems(.uint32), ["ends with limitExceeded"])
        Self.check([UInt8](repeating: 0xFF, count: 12), FrameItems(.varint), ["ends with limitExceeded"])
        Self.check([1, 9, 3, 1], FrameItems(.varint), ["[9]", "ends with malformedResponse"])
        Self.check([0, 0], FrameItems(.uint32), ["ends with malformedResponse"])
    }

    @Test func `nothing of an earlier body stays when another one begins`() throws {
        for scanner in [ByteItems(), TextItems(), LineItems(), JSONItems(), FrameItems()] as [any ItemScanner] {
            var scanner = scanner
            try scanner.begin(contentType: nil)
            scanner.feed(Self.bytes("[\"\u{0}"))
            try scanner.begin(contentType: nil)
            #expect(scanner.held == 0)
            let hasNext = scanner.hasNext()
            #expect(!hasNext)
        }
    }
}

extension JSONWriter {
    fileprivate static func text(_ text: String) -> String {
        var writer = JSONWriter()
        writer.value(text)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
