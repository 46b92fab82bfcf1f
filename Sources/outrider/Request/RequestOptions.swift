// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderJSON

/// The options of curl for a request.
struct RequestOptions: ParsableArguments {
    @Option(
        name: [.customShort("X"), .customLong("request")],
        help: "The method; else that of the command: of get, GET, or POST with data or a form.")
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: """
            A field to send: 'Name: value', 'Name:' to leave a default field out, 'Name;' for an empty field, or @file with \
            a field on each line. May be repeated.
            """)
    var headers: [String] = []

    @Option(name: [.customShort("A"), .customLong("user-agent")], help: "The User-Agent field.")
    var userAgent: String?

    @Option(name: [.customShort("e"), .customLong("referer")], help: "The Referer field.")
    var referer: String?

    @Option(name: [.customShort("r"), .long], help: "The bytes to ask for, such as 0-99, 100- or -100 (the last 100).")
    var range: String?

    @OptionGroup var body: BodyOptions

    @Flag(name: [.customShort("I"), .long], help: "Send HEAD, and write the status and the fields.")
    var head = false

    @Flag(name: [.customShort("L"), .long], help: "Follow redirects, which is the default.")
    var location = false

    @Flag(name: .customLong("no-location"), help: "Follow no redirect: the redirect is the response.")
    var noLocation = false

    @Option(
        name: .customLong("max-redirs"),
        help: "The most redirects of an attempt, 0 to 100; 20 by default, -1 for 100.")
    var maxRedirects: Int?

    @Flag(name: .long, help: "Undo the compression of bodies, which is the default without an Accept-Encoding of -H.")
    var compressed = false

    @Option(
        name: [.customShort("m"), .customLong("timeout"), .customLong("max-time")],
        help: "Seconds for the whole request; 0 for the longest time, a day.")
    var timeout: Double?

    @Option(
        name: .customLong("connect-timeout"), help: "Seconds for opening a connection; 0 for those of the service.")
    var connectTimeout: Double?

    @Option(
        name: .customLong("max-filesize"),
        help: "The longest body in bytes, such as 500k or 2M; a longer body is a failure. 0 for no limit.")
    var maxFileSize: String?

    @Option(
        name: .customLong("limit-rate"),
        help: "The most bytes of the body to receive in a second, such as 500k or 2M; 0 for no limit.")
    var limitRate: String?

    @Option(
        name: [.customShort("z"), .customLong("time-cond")],
        help: """
            Ask for the body only if it changed after this date, such as 'Sun, 06 Nov 1994 08:49:37 GMT', or after the time \
            of this file (If-Modified-Since); with - before the date, only if it did not.
            """, completion: .file())
    var timeCondition: String?

    @Option(
        name: .customLong("etag-compare"),
        help: "Ask for the body only if its ETag is not the one in this file (If-None-Match); see --etag-save.",
        completion: .file())
    var etagCompare: String?

    func validate() throws {
        if let fault = RequestWords.fault(timeout: timeout) { throw ValidationError(fault) }
        if let connectTimeout, connectTimeout != 0, !(connectTimeout >= 0.001 && connectTimeout <= 86400) {
            throw ValidationError("--connect-timeout must be from 0.001 to 86400 seconds, or 0 for the default")
        }
        if let maxFileSize, maxFileSize != "0", ByteRate(maxFileSize) == nil {
            throw ValidationError("--max-filesize is \(maxFileSize), and must be a number of bytes, such as 500k or 2M")
        }
        if location, noLocation { throw ValidationError("give only one of --location and --no-location") }
        if let limitRate, limitRate != "0" {
            if ByteRate(limitRate) == nil {
                throw ValidationError("--limit-rate is \(limitRate), and must be a number of bytes, such as 500k or 2M")
            }
            if body.uploadFile != nil {
                throw ValidationError("--limit-rate limits what is received, and not --upload-file: leave one out")
            }
        }
        if let maxRedirects, !(-1...100).contains(maxRedirects) {
            throw ValidationError("--max-redirs must be from 0 to 100, or -1 for 100")
        }
        if let range, !Self.isRange(range) {
            throw ValidationError("--range \(range) is no range of bytes: write 0-99, 100- or -100")
        }
        if head, !body.get, body.isGiven {
            throw ValidationError("-I sends no body: add -G to put the data into the URL")
        }
    }

    /// RFC 9110 section 14.1.1: ranges as curl takes them, without the unit.
    private static func isRange(_ text: String) -> Bool {
        text.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { part in
            let ends = part.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
            return ends.count == 2 && ends.contains { !$0.isEmpty }
                && ends.allSatisfy { $0.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } }
        }
    }

    /// The Referer without the word of curl that asks for another one after a redirect.
    private var namedReferer: String? {
        referer.map { $0.hasSuffix(";auto") ? String($0.dropLast(5)) : $0 }
    }

    /// The fields that options stand for. A field of `-H` with the same name wins, as with curl.
    private var namedFields: [String] {
        [
            userAgent.map { "User-Agent: \($0)" }, namedReferer.map { "Referer: \($0)" },
            range.map { "Range: bytes=\($0)" },
            body.json.isEmpty ? nil : "Accept: application/json",
            // curl names no type, and a signature of a URL may count on that
            body.uploadFile == nil ? nil : "Content-Type:",
        ]
        .compactMap { $0 }
        .filter { field in
            let name = field.prefix { $0 != ":" }.lowercased() + ":"
            return !headers.contains { $0.lowercased().hasPrefix(name) || $0.lowercased() == name.dropLast() + ";" }
        }
    }

    /// Everything of a `RequestSpec` that these options say, but for its URL.
    ///
    /// - Parameters:
    ///   - verb: the method of a command such as `outrider post`; `-X` has precedence.
    ///   - sent: the body that `BodyOptions` made.
    ///   - outputs: the files that the command writes.
    func params(
        verb: String?, sent: SentBody, items: ItemWords, outputs: [String]
    ) throws(CommandFailure) -> JSONObject {
        var params = JSONObject()
        let method = method ?? (head ? "HEAD" : verb ?? sent.method)
        params["method"] = .string(method)
        if let body = sent.body {
            params["body"] = .object(body)
            if method == "GET" || method == "HEAD" { params["allowGetBody"] = .bool(true) }
        }
        let conditions = [
            try etagCompare.flatMap(ETagFile.read).map { "If-None-Match: \($0)" },
            try timeCondition.flatMap { (word) throws(CommandFailure) in
                try TimeCondition.field(word, outputs: outputs)
            },
        ]
        let fields = try RequestWords.fields(headers + namedFields + items.fields + conditions.compactMap(\.self))
        fields.add(to: &params)
        addTimeouts(to: &params)
        if noLocation || (maxRedirects == 0 && !location) {
            params["redirect"] = .string("none")
        } else if let maxRedirects {
            params["redirect"] = .object(["max": .integer(maxRedirects < 0 ? 100 : Int64(maxRedirects))])
        }
        // as with curl, a body in a coding that was asked for stays as the server sends it
        if !compressed, let asks = fields.asksForCoding { params["decode"] = .bool(!asks) }
        if let most = maxFileSize.flatMap(ByteRate.init) { params["maxBody"] = .integer(most.bytes) }
        return params
    }

    /// Seconds for the whole request; nil for those of the service. The service has no word for a request without a limit:
    /// 0, which curl takes for that, is the longest time.
    var total: Double? { timeout == 0 ? 86400 : timeout }

    private func addTimeouts(to params: inout JSONObject) {
        guard let connectTimeout, connectTimeout > 0 else {
            if let total { params["timeout"] = .real(total) }
            return
        }
        var phases: JSONObject = ["resolve": .real(connectTimeout), "connect": .real(connectTimeout)]
        if let total { phases["total"] = .real(total) }
        params["timeout"] = .object(phases)
    }
}
