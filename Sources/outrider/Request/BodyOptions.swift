// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderJSON

/// The options of curl for the body of a request.
struct BodyOptions: ParsableArguments {
    @Option(
        name: [.customShort("d"), .customLong("data"), .customLong("data-binary")],
        help: """
            Data to send: text, @file, or @- for standard input; line ends of files stay, as with curl's \
            --data-binary. May be repeated; the pieces are joined with &.
            """)
    var data: [String] = []

    // ShortOptions turns both options into marked pieces of --data: here they have their help, and lack of a value is told
    @Option(
        name: .customLong("data-raw"), help: "Data to send unchanged, even with a leading @. May be repeated.")
    private var rawData: [String] = []

    @Option(
        name: .customLong("data-urlencode"),
        help: "Data to encode for a URL or form: text, name=text, @file or name@file. May be repeated.")
    private var urlEncoded: [String] = []

    @Option(
        name: .customLong("url-query"),
        help:
            "Data to encode and add to the query of the URL, as of --data-urlencode; or +text, added unchanged. May be repeated."
    )
    var urlQuery: [String] = []

    @Option(
        name: .long,
        help: "The same as --data, sent as application/json, with Accept. May be repeated, with nothing between pieces."
    )
    var json: [String] = []

    @Option(
        name: [.customShort("F"), .customLong("form")],
        help: """
            A part of a form: 'name=text', 'name=@file' to send a file, 'name=<file' to send its text; with ;type=TYPE \
            and ;filename=NAME at the end. May be repeated.
            """)
    var form: [String] = []

    @Option(name: .customLong("form-string"), help: "A part of a form, taken literally: 'name=text'.")
    var formText: [String] = []

    @Option(
        name: [.customShort("T"), .customLong("upload-file")],
        help: "The file to put, or - for standard input. A URL that ends in / gets the name of the file.",
        completion: .file())
    private var uploadFiles: [String] = []

    @Flag(name: [.customShort("G"), .long], help: "Put the data into the query of the URL, and send GET.")
    var get = false

    /// A whole `Body` in place of the options; of `outrider run`.
    var rawBody: JSONObject?

    private enum CodingKeys: String, CodingKey {
        case data, rawData, urlEncoded, urlQuery, json, form, formText, uploadFiles, get
    }

    /// The file of the only `--upload-file`.
    var uploadFile: String? { uploadFiles.first }

    /// Whether an option asks for a body.
    var isGiven: Bool {
        hasData || !json.isEmpty || hasForm || uploadFile != nil
    }

    private var hasData: Bool { !data.isEmpty }

    private var hasForm: Bool { !form.isEmpty || !formText.isEmpty }

    /// The words that may name standard input.
    var readers: [String] {
        (data + json).map { DataWords.fileName(in: $0) == "-" ? "@-" : "" }
            + urlQuery.map { DataWords.fileName(in: DataWords.Mark.encoded.rawValue + $0) == "-" ? "@-" : "" }
            + form.map { $0.contains("=@-") || $0.contains("=<-") ? "@-" : "" }
            + [uploadFile == "-" || uploadFile == "." ? "@-" : ""]
    }

    func validate() throws {
        let kinds = [
            ("--data", hasData), ("--json", !json.isEmpty), ("--form", hasForm),
            ("--upload-file", uploadFile != nil),
        ].filter(\.1).map(\.0)
        if kinds.count > 1 { throw ValidationError("give only one of \(kinds[0]) and \(kinds[1])") }
        if uploadFiles.count > 1 {
            throw ValidationError(
                "--upload-file sends a single file: write --next in front of the URL of the next file")
        }
        if get, kinds.first.map({ $0 != "--data" }) ?? false {
            throw ValidationError("-G puts --data into the URL: leave out \(kinds[0])")
        }
    }

    /// The body of the options and the items, with the method and the query that follow.
    func sent(_ items: ItemWords) throws(CommandFailure) -> SentBody {
        var sent = try content(items)
        var pairs: [String] = []
        for word in urlQuery {
            pairs.append(word.hasPrefix("+") ? String(word.dropFirst()) : try DataWords.escapedWord(word))
        }
        if !pairs.isEmpty { sent.query = (pairs + [sent.query].compactMap(\.self)).joined(separator: "&") }
        return sent
    }

    private func content(_ items: ItemWords) throws(CommandFailure) -> SentBody {
        if items.hasBody, isGiven {
            throw CommandFailure(.usage, "give the body either as name=value or by an option, not both")
        }
        if let rawBody { return SentBody(rawBody) }
        if !json.isEmpty {
            return SentBody(try DataWords.body(DataWords.pieces(json), type: "application/json", separator: ""))
        }
        if let uploadFile { return SentBody(try DataWords.file(uploadFile), method: "PUT") }
        if hasForm {
            var parts: [JSONValue] = []
            for word in form { parts.append(.object(try FormWord(word).part())) }
            for word in formText { parts.append(.object(try FormWord(plain: word).part())) }
            return SentBody(["multipart": .array(parts)])
        }
        if hasData {
            let pieces = try DataWords.pieces(data)
            if get { return SentBody(query: try DataWords.text(pieces)) }
            return SentBody(try DataWords.body(pieces, type: "application/x-www-form-urlencoded"))
        }
        return items.hasBody ? SentBody(try items.body()) : SentBody()
    }
}

/// The body of a request, with the method and the query that go along.
struct SentBody {
    /// A `Body` of the contract; nil for none.
    var body: JSONObject?
    /// The method that goes with the body.
    var method = "GET"
    /// The query that `--url-query` and `-G` put into the URL.
    var query: String?

    init() {}

    init(_ body: JSONObject, method: String = "POST") {
        self.body = body
        self.method = method
    }

    init(query: String) { self.query = query }

    /// The URL with the query of `-G` and of the items, and the name of the file that is put.
    func url(_ given: String, items: ItemWords, file: String?) -> String {
        var url = ShellURL.complete(given)
        let fragment = url.firstIndex(of: "#").map { String(url[$0...]) } ?? ""
        url.removeLast(fragment.count)
        if let file, file != "-", file != ".", let name = file.split(separator: "/").last {
            var path = String(url.prefix { $0 != "?" })
            let query = url.dropFirst(path.count)
            if !ShellURL.afterScheme(path).contains("/") { path += "/" }
            if path.hasSuffix("/") { url = path + DataWords.escaped(Array(name.utf8)) + query }
        }
        for added in [query, items.query].compactMap({ $0 }) where !added.isEmpty {
            url += (url.contains("?") ? (url.hasSuffix("?") || url.hasSuffix("&") ? "" : "&") : "?") + added
        }
        return url + fragment
    }
}
