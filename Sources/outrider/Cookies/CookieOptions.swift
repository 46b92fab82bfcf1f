// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderEngine
import OutriderJSON

/// The cookies of a command, with the options of curl.
struct CookieOptions: ParsableArguments {
    @Option(
        name: [.customShort("b"), .customLong("cookie")],
        help: """
            Cookies to send: 'name=value; …', or a file of curl, wget or a browser; '' keeps cookies in memory. May be \
            repeated.
            """, completion: .file())
    var cookies: [String] = []

    @Option(
        name: [.customShort("c"), .customLong("cookie-jar")],
        help: "Write all cookies to this file at the end, for its owner only; - is standard output.",
        completion: .file())
    var cookieJar: String?

    @Flag(
        name: [.customShort("j"), .customLong("junk-session-cookies")],
        help: "Leave out cookies without an end of their own from the files of -b.")
    var junkSessionCookies = false

    @Option(name: .long, help: "The jar on disk that programs of this user share by this name.")
    var jar: String?

    func validate() throws {
        if let fault = jar.flatMap(CookieJars.fault(ofName:)) { throw ValidationError("--jar \(fault)") }
        for text in texts where Self.pairs(text) == nil {
            throw ValidationError(
                "-b \(text.prefix(20))… has a cookie without a name: write 'name=value; …', or use -H 'Cookie: …'")
        }
    }

    private var texts: [String] { cookies.filter { Self.isText($0) } }
    private var files: [String] { cookies.filter { !Self.isText($0) && !$0.isEmpty } }

    /// The jar of the command's session; nil if no cookie is kept beyond a single request.
    var sessionJar: JSONValue? {
        if let jar { return .string(jar) }
        return cookieJar != nil || cookies.contains { !Self.isText($0) } ? .bool(true) : nil
    }

    /// Whether a value of `-b` is a text with a cookie without a name, which browsers keep and send.
    static func isNameless(_ value: String) -> Bool { isText(value) && pairs(value) == nil }

    /// Whether a value of `-b` is a text, and no file.
    private static func isText(_ value: String) -> Bool { value.halves(at: "=") != nil }

    /// The cookies of a text; nil if a part has no name.
    private static func pairs(_ text: String) -> [JSONValue]? {
        var found: [JSONValue] = []
        for part in text.unicodeScalars.split(separator: ";") {
            let part = Substring(part.drop { $0 == " " })
            guard !part.isEmpty else { continue }
            guard let (name, value) = part.halves(at: "="), !name.isEmpty else { return nil }
            found.append(.object(["name": .string(name), "value": .string(value)]))
        }
        return found
    }

    /// Adds the cookies that need no jar.
    func add(to shared: inout JSONObject) {
        let extra = texts.flatMap { Self.pairs($0) ?? [] }
        if !extra.isEmpty { shared["cookies"] = .object(["extra": .array(extra)]) }
    }

    /// Reads the files of `-b` into the jar.
    func read(_ shared: JSONObject, over client: inout ServiceClient) throws(CommandFailure) {
        guard let session = shared["session"] else { return }
        for file in files { try read(file, into: session, over: &client) }
    }

    private func read(
        _ file: String, into session: JSONValue, over client: inout ServiceClient
    ) throws(CommandFailure) {
        // as with curl, the file may be missing in the first run
        if file != "-", access(file, F_OK) != 0, errno == ENOENT {
            return StandardError.line("outrider: \(file) does not exist: no cookies were read")
        }
        var bytes = try StandardInput.bytes(of: file)
        if junkSessionCookies { bytes = Self.withoutSessionCookies(bytes) }
        let member = try StandardInput.member(bytes)
        let found = try client.object(
            "cookies.import", ["session": session, member.name: member.value], by: Deadline(after: 30))
        let skipped = found["skipped"]?.array ?? []
        for one in skipped.prefix(5) { CookiesCommand.writeSkipped(one.object ?? [:], of: file, part: "line") }
        if skipped.count > 5 { StandardError.line("outrider: \(file): \(skipped.count - 5) more lines were skipped") }
    }

    /// The file without its cookies of a session: the jar may be shared, and keeps its own ones. Their lines stay,
    /// empty, so that messages name the right lines.
    private static func withoutSessionCookies(_ bytes: [UInt8]) -> [UInt8] {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let kept = lines.map { line -> [UInt8] in isOfSession(line) ? [] : Array(line) }
        return Array(kept.joined(separator: [UInt8(ascii: "\n")]))
    }

    private static func isOfSession(_ line: ArraySlice<UInt8>) -> Bool {
        let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
        guard fields.count == 6 || fields.count == 7 else { return false }
        // 0, nothing, or a time before 1970
        let seconds = fields[4].prefix { $0 != UInt8(ascii: ".") }
        return seconds.first == UInt8(ascii: "-") || seconds.allSatisfy { $0 == UInt8(ascii: "0") }
    }

    /// Throws if cookies of `--jar` are not on the disk, once all requests are over.
    func checkJar(_ shared: JSONObject, over client: inout ServiceClient) throws(CommandFailure) {
        guard jar != nil, let session = shared["session"] else { return }
        // changes nothing: only calls that change a jar tell of the disk
        let nothing: JSONObject = ["session": session, "cookies": .array([])]
        try CookiesCommand.checkWritten(try client.object("cookies.set", nothing, by: Deadline(after: 30)))
    }

    /// Writes the file of `-c`, once all requests are over.
    func write(_ shared: JSONObject, over client: inout ServiceClient) throws(CommandFailure) {
        guard let cookieJar, let session = shared["session"] else { return }
        var params: JSONObject = ["session": session]
        if cookieJar != "-" {
            params["file"] = .string(try CommandWords.absolute(cookieJar))
            params["replace"] = .bool(true)
        }
        let written = try client.object("cookies.export", params, by: Deadline(after: 30))
        for name in written["skipped"]?.array ?? [] {
            StandardError.line(
                "outrider: the cookie \(name.string ?? "") has a tab or a partition, and cannot stand in \(cookieJar)")
        }
        if cookieJar == "-" { try StandardOutput.write(Array((written["text"]?.string ?? "").utf8)) }
    }
}
