// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderHTTP
import OutriderJSON

/// Everything that a command for requests takes: `outrider get`, `outrider post` and the others differ in the method alone.
struct RequestCall: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            """
            Where to, such as https://example.org/, example.org or :8080/x; {a,b} and [1-9] stand for several URLs. Behind it \
            more URLs, and items: name=text, name:=json, name==query, Name:field, name@file.
            """, valueName: "url"))
    var words: [String] = []

    @Option(
        name: .customLong("input-file"), help: "More URLs, one on each line; - is standard input.", completion: .file())
    var inputFile: String?

    @Flag(name: [.customShort("g"), .long], help: "Braces and brackets stand for themselves in URLs.")
    var globoff = false

    @Flag(name: .long, help: "Send nothing: write the request as a curl command, secrets masked.")
    var curl = false

    @OptionGroup var request: RequestOptions

    @OptionGroup var output: OutputOptions

    @OptionGroup var auth: AuthOptions

    @OptionGroup var proxy: ProxyOptions

    @OptionGroup var cookies: CookieOptions

    @OptionGroup var service: ServiceOptions

    func validate() throws {
        if words.isEmpty, inputFile == nil { throw ValidationError("name a URL, such as https://example.org/") }
        let readers =
            request.body.readers + [inputFile == "-" ? "@-" : ""] + cookies.cookies.map { $0 == "-" ? "@-" : "" }
        if let fault = RequestWords.fault(headers: request.headers, data: readers, asks: auth.asks) {
            throw ValidationError(fault)
        }
    }

    /// One without any option; nil options of a parsed command line have their defaults.
    static func plain(_ url: String) throws(CommandFailure) -> RequestCall {
        do {
            return try RequestCall.parse(["--globoff", "--", url])
        } catch {
            throw CommandFailure(.usage, RequestCall.message(for: error))
        }
    }

    /// The URLs in their order, and the items.
    func split() throws(CommandFailure) -> (urls: [ShellURL.Expanded], items: ItemWords) {
        var urls = Array(words.prefix(1))
        var items: [String] = []
        for word in words.dropFirst() {
            if ItemWords.isItem(word) || word.hasPrefix("=") || word.hasPrefix("@") {
                items.append(word)
            } else {
                urls.append(word)
            }
        }
        if let inputFile {
            let text = String(decoding: try StandardInput.bytes(of: inputFile), as: UTF8.self)
            urls += text.split(whereSeparator: \.isNewline).map(String.init).filter { line in
                !line.hasPrefix("#") && !line.allSatisfy(\.isWhitespace)
            }
        }
        var expanded: [ShellURL.Expanded] = []
        for url in urls {
            expanded += globoff ? [ShellURL.Expanded(text: url)] : try ShellURL.expanded(url)
            if expanded.count > ShellURL.most {
                throw CommandFailure(.usage, "these are more than \(ShellURL.most) URLs")
            }
        }
        return (expanded, try ItemWords(items))
    }

    /// Makes the requests one after the other on one connection to the service.
    ///
    /// - Parameter verb: the method of the command; nil leaves it to the options.
    func run(_ verb: String?) throws {
        do throws(CommandFailure) {
            try fetchAll(verb)
        } catch {
            throw output.tells ? error : CommandFailure(code: error.code, nil)
        }
    }

    /// The `RequestSpec` of each URL.
    func calls(_ verb: String?) throws(CommandFailure) -> [JSONObject] { try calls(verb, split()) }

    private func calls(
        _ verb: String?, _ words: (urls: [ShellURL.Expanded], items: ItemWords)
    ) throws(CommandFailure) -> [JSONObject] {
        let sent = try request.body.sent(words.items)
        var shared = try request.params(verb: verb, sent: sent, items: words.items)
        proxy.add(to: &shared)
        if output.writeOut != nil { shared["metrics"] = .bool(true) }
        if !auth.isByHost { try auth.add(to: &shared) }
        var calls: [JSONObject] = []
        for url in words.urls {
            var params = shared
            params["url"] = .string(sent.url(url.text, items: words.items, file: request.body.uploadFile))
            if auth.isByHost { try auth.add(to: &params) }
            calls.append(params)
        }
        return calls
    }

    private func fetchAll(_ verb: String?) throws(CommandFailure) {
        let words = try split()
        let writeOut = try output.writeOut.map { (format) throws(CommandFailure) in try WriteOut(format) }
        try checkFiles()
        let calls = try calls(verb, words)
        var service = try service.connect(orPrivate: true)
        if output.verbose, !curl { try VerboseLog.subscribe(over: &service.client, by: Deadline(after: 10)) }
        try cookies.add(to: &shared, over: &service.client)
        var failed: CommandFailure?
        for (number, url) in words.urls.enumerated() {
            var outcome = WriteOut.Outcome(urlNumber: number)
            do throws(CommandFailure) {
                try RequestTransfer(call: self, url: url, number: number)
                    .run(calls[number], over: &service.client, &outcome)
            } catch {
                outcome.failure = error
            }
            if let writeOut, !curl { try writeOut.write(outcome) }
            guard let failure = outcome.failure else { continue }
            if output.tells { failed?.report() }
            failed = failure
        }
        if !curl { try cookies.write(shared, over: &service.client) }
        if let failed { throw failed }
    }

    /// Refuses a file that is read and written at the same time.
    private func checkFiles() throws(CommandFailure) {
        let read = request.body.data.filter { $0.hasPrefix("@") }.map { String($0.dropFirst()) }
        for name in read + [request.body.uploadFile].compactMap({ $0 }) where name != "-" {
            guard let identity = FileIdentity(name), output.outputs.contains(where: { FileIdentity($0) == identity })
            else { continue }
            throw CommandFailure(.usage, "\(name) is both sent and written: name another file")
        }
    }
}

/// Which file a path leads to, for regular files.
private struct FileIdentity: Equatable {
    private let device: dev_t
    private let inode: ino_t

    init?(_ path: String) {
        var info = stat()
        guard stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return nil }
        device = info.st_dev
        inode = info.st_ino
    }
}
