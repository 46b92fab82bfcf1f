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
            The URL, such as https://example.org/, example.org or :8080/x; {a,b} and [1-9] stand for several URLs. \
            Then more URLs, and items: name=text, name:=json, name==query, Name:field, name@file.
            """, valueName: "url"))
    var words: [String] = []

    @Option(
        name: .customLong("input-file"), help: "More URLs, each on a line; - is standard input.", completion: .file())
    var inputFile: String?

    // ShortOptions puts the options of the file in its place: here the option has its help, lack of a value is told, and
    // standard input, which is read by then, is left
    @Option(
        name: [.customShort("K"), .long],
        help: "A file with options, each on a line, as of curl; - is standard input. May be repeated.",
        completion: .file())
    private var config: [String] = []

    @Flag(name: [.customShort("g"), .long], help: "Braces and brackets stand for themselves in URLs.")
    var globoff = false

    @Flag(
        name: [.customShort("Z"), .long],
        help:
            "Make the requests of several URLs at the same time; bodies on standard output keep the order of the URLs."
    )
    var parallel = false

    @Option(
        name: .customLong("parallel-max"), help: "With --parallel: the most requests at the same time, 1 to 200.")
    var parallelMax = 50

    @Option(
        name: .long, help: "Begin at most so many requests in a time: 2/s, 30/m, 100/h or 5/d, one after the other.")
    var rate: String?

    @Option(
        name: .customLong("unix-socket"),
        help: "Connect to this Unix socket, and ask for the host of the URL, which is http.", completion: .file())
    var unixSocket: String?

    @Option(name: .long, help: "The schemes that URLs may have, such as =https: another URL is a failure.")
    var proto: String?

    @Flag(name: .long, help: "Send nothing: write the request as a curl command, secrets masked.")
    var curl = false

    // NextRequests takes the option: here is the help
    @Flag(name: .long, help: "Begin a further request, with a URL and options of its own.")
    private var next = false

    @OptionGroup var request: RequestOptions

    @OptionGroup var retries: RetryOptions

    @OptionGroup var output: OutputOptions

    @OptionGroup var auth: AuthOptions

    @OptionGroup var proxy: ProxyOptions

    @OptionGroup var cookies: CookieOptions
    @OptionGroup var version: VersionOptions

    @OptionGroup var trust: TrustOptions

    @OptionGroup var cache: CacheOptions

    @OptionGroup var service: ServiceOptions

    func validate() throws {
        if words.isEmpty, inputFile == nil { throw ValidationError("name a URL, such as https://example.org/") }
        if parallel, request.limitRate != nil {
            throw ValidationError("--limit-rate limits one request after the other: leave out --parallel")
        }
        if let rate {
            if RequestRate(rate) == nil { throw ValidationError("--rate is \(rate), and must be such as 2/s or 30/m") }
            if parallel { throw ValidationError("--rate begins one request after the other: leave out --parallel") }
        }
        if unixSocket == "" { throw ValidationError("--unix-socket is empty: name the socket") }
        if !(1...200).contains(parallelMax) { throw ValidationError("--parallel-max must be from 1 to 200") }
        if let fault = RequestWords.fault(headers: request.headers, data: readers, asks: auth.asks) {
            throw ValidationError(fault)
        }
    }

    private var readers: [String] {
        let files = [inputFile ?? "", trust.passFile ?? ""] + cookies.cookies + config
        let named = files.map { $0 == "-" } + words.dropFirst().map(ItemWords.namesInput)
        return request.body.readers + [output.writeOut ?? ""] + named.map { $0 ? "@-" : "" }
    }

    /// Whether an option or an item names standard input; passwords can be typed at a terminal one after the other.
    var namesInput: Bool {
        (request.headers + readers).contains("@-") || auth.asks && isatty(STDIN_FILENO) == 0
    }

    /// A call without options; nil options of a parsed command line have their defaults.
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
        if let first = words.first, ItemWords.isNoURL(first) {
            throw CommandFailure(.usage, "\(first) is an item: name the URL in front of the items")
        }
        if output.remoteName, words.contains("-") {
            throw CommandFailure(
                .usage, "-O takes no name of a file: leave out -O - for standard output, or write -o FILE")
        }
        for word in words.dropFirst() {
            if ItemWords.isItem(word) || word.hasPrefix("=") || word.hasPrefix("@") {
                items.append(word)
            } else {
                urls.append(word)
            }
        }
        if let inputFile {
            let text = try StandardInput.text(of: inputFile)
            for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
                let words = line.split(whereSeparator: \.isWhitespace)
                guard let first = words.first, let last = words.last else { continue }
                urls.append(String(line[first.startIndex..<last.endIndex]))
            }
        }
        var expanded: [ShellURL.Expanded] = []
        for (number, url) in urls.enumerated() {
            for var one in globoff ? [ShellURL.Expanded(text: url)] : try ShellURL.expanded(url) {
                one.word = number
                expanded.append(one)
            }
            if expanded.count > ShellURL.most {
                throw CommandFailure(.usage, "these are more than \(ShellURL.most) URLs")
            }
        }
        return (expanded, try ItemWords(items))
    }

    /// The `RequestSpec` of each URL, without members that only the service knows.
    func calls(_ verb: String?) throws(CommandFailure) -> [JSONObject] {
        let words = try split()
        let sent = try request.body.sent(words.items)
        let shared = try shared(verb, sent, words)
        var calls: [JSONObject] = []
        for url in words.urls { calls.append(try params(shared, url, sent, words.items)) }
        return calls
    }

    /// The members that all URLs have in common.
    func shared(
        _ verb: String?, _ sent: SentBody, _ words: (urls: [ShellURL.Expanded], items: ItemWords)
    ) throws(CommandFailure) -> JSONObject {
        if request.body.uploadFile != nil, let count = words.urls.last?.word, count > 0 {
            throw CommandFailure(
                .usage, "--upload-file is of a single URL, and these are \(count + 1): write --next between them")
        }
        var shared = try request.params(
            verb: verb, sent: sent, items: words.items, outputs: output.files(of: words.urls))
        retries.add(to: &shared, failsByStatus: output.failsByStatus)
        proxy.add(to: &shared)
        version.add(to: &shared)
        try trust.add(to: &shared)
        cache.add(to: &shared)
        cookies.add(to: &shared)
        if output.writeOut != nil { shared["metrics"] = .bool(true) }
        if !auth.isByHost { try auth.add(to: &shared) }
        return shared
    }

    /// The `RequestSpec` of a URL.
    func params(
        _ shared: JSONObject, _ url: ShellURL.Expanded, _ sent: SentBody, _ items: ItemWords
    ) throws(CommandFailure) -> JSONObject {
        var params = shared
        let text = unixSocket == nil ? url.text : ShellURL.complete(url.text, scheme: "http")
        let address = sent.url(text, items: items, file: request.body.uploadFile)
        try checkScheme(of: address)
        try proxy.check(address)
        params["url"] = .string(address)
        // many servers name the compression of such a file as a coding
        if !request.compressed, ShellURL.isCompressed(address) { FieldWords.takeAsStored(&params) }
        if auth.isByHost { try auth.add(to: &params) }
        if let unixSocket {
            let (address, host) = try ShellURL.through(unixSocket, address)
            params["url"] = .string(address)
            if host != "localhost" { FieldWords.name(host, in: &params) }
        } else {
            trust.redirect(&params)
        }
        return params
    }

    /// Refuses a URL that `--proto` does not allow: `=https` allows https alone, `-http` all but http.
    private func checkScheme(of address: String) throws(CommandFailure) {
        guard let proto, let scheme = address.firstRange(of: "://").map({ address[..<$0.lowerBound].lowercased() })
        else { return }
        var allowed: Set = ["http", "https"]
        for word in proto.lowercased().split(separator: ",") {
            let name = word.drop { "+-=".contains($0) }
            let names = name == "all" ? ["http", "https"] : [String(name)]
            if word.hasPrefix("-") {
                allowed.subtract(names)
            } else {
                allowed = word.hasPrefix("=") ? Set(names) : allowed.union(names)
            }
        }
        if allowed.contains(scheme.replacing("+unix", with: "")) { return }
        throw CommandFailure(.usage, "--proto \(proto) does not allow \(scheme)://: write a URL with another scheme")
    }
}
