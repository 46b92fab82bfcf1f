// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser

/// The grammar of options that curl has and the parser of arguments has not: `-XPOST`, `-sd@file`, values that begin with a
/// hyphen, as in `-r -100`, and pieces of data in the order of their options.
struct ShortOptions {
    /// The letters of options without a value; nil if every other letter is one.
    private let flags: Set<Character>?
    /// The letters of options with a value.
    private let values: Set<Character>
    /// The long options whose value may begin with a hyphen.
    private let longValues: Set<String>
    /// The options of data that become `--data` with a mark.
    private var marks: [String: DataWords.Mark] = [:]
    /// Whether options that say what holds anyway are left out, and other names of an option replaced.
    private var isLenient = false
    /// Whether `-K` puts the options of a file in its place.
    private var readsFiles = false
    /// The parser that knows the options, and the words in front of them.
    private var parser: (type: any ParsableCommand.Type, words: [String]) = (GetCommand.self, [])

    /// The options of curl itself.
    static let ofCurl = ShortOptions(
        flags: nil, values: Set("AbcCdDeEFhHKmoPQrtTuUwxXyYz"), longValues: longOptions,
        marks: [
            "-d": .stripped, "--data": .stripped, "--data-ascii": .stripped, "--data-raw": .raw,
            "--data-urlencode": .encoded,
        ],
        isLenient: true, readsFiles: true)
    /// The options of the commands for requests.
    static let ofRequests = ShortOptions(
        flags: Set("46fGgIiJjkLNnOqRSsvZ#"), values: Set("AbcdDeEFHKmorTuUwxXz"), longValues: longOptions,
        marks: ["--data-raw": .raw, "--data-urlencode": .encoded], isLenient: true, readsFiles: true)
    /// The options of `websocket`, where `--json` has no value.
    private static let ofWebSockets = ShortOptions(
        flags: flagsOfOthers, values: ofRequests.values,
        longValues: longOptions.subtracting(["--json", "--form-string"]))
    /// The options of commands without forms.
    private static let ofDownloads = ShortOptions(
        flags: flagsOfOthers, values: ofRequests.values, longValues: longOptions.subtracting(["--form-string"]))
    private static let flagsOfOthers = Set("46fGgIiJjkLnOSsvZ")

    /// The commands with these options.
    private static let commands: Set = [
        "get", "post", "put", "patch", "delete", "head", "download", "sse", "websocket",
    ]

    private static let longOptions: Set = [
        "--cookie", "--cookie-jar", "--data", "--data-ascii", "--data-binary", "--data-raw", "--data-urlencode",
        "--dump-header", "--form", "--form-string", "--header", "--json", "--max-redirs", "--oauth2-bearer", "--output",
        "--proto", "--proxy-user", "--range", "--referer", "--request", "--time-cond", "--upload-file", "--url-query",
        "--user", "--user-agent", "--write-out",
    ]

    /// Options of curl that say what holds anyway: bodies are written as they arrive, no `.curlrc` is read, refused
    /// connections are retried …
    private static let needless: Set = [
        "-#", "-N", "-q", "--anyauth", "--disable", "--no-buffer", "--no-keepalive", "--no-sessionid",
        "--no-styled-output", "--parallel-immediate", "--progress-bar", "--retry-connrefused", "--ssl-no-revoke",
        "--ssl-reqd", "--ssl-revoke-best-effort", "--styled-output", "--tcp-fastopen", "--tcp-nodelay",
    ]
    private static let mostFiles = 16
    private static let otherNames = [
        "--data-ascii": ["--data"], "--follow": ["--location"], "--no-progress-meter": ["--silent", "--show-error"],
        "--remote-name-all": ["-O"],
    ]

    /// Whether a command is `get`, or one of its sisters.
    static func isOfRequests(_ command: String) -> Bool {
        commands.contains(command) && !["websocket", "download", "sse"].contains(command)
    }

    /// The words of a command line, in the grammar of the parser.
    static func parsable(_ words: [String], by parser: any ParsableCommand.Type) throws(CommandFailure) -> [String] {
        guard let command = words.first, commands.contains(command) else { return words }
        var options =
            switch command {
            case "websocket": ofWebSockets
            case "download", "sse": ofDownloads
            default: ofRequests
            }
        options.parser = (parser, [command])
        return [command] + (try options.parsable(words.dropFirst()))
    }

    /// Gives each option a word of its own. A word with an unknown letter stays as it is, for the parser to refuse.
    func parsable(_ words: some Collection<String>) throws(CommandFailure) -> [String] {
        var parsable: [String] = []
        var words = Array(words)[...]
        var files = 0
        while let word = words.popFirst() {
            if word == "--" { return parsable + [word] + words }
            // the parts of a form keep their order: a service may ignore what stands behind the file
            if word == "--form-string", longValues.contains(word), let form = words.first.flatMap(FormWord.quoted) {
                words.removeFirst()
                add("--form", form, to: &parsable)
                continue
            }
            if longValues.contains(word) {
                add(word, words.popFirst(), to: &parsable)
                continue
            }
            if let (option, value) = word.halves(at: "="), option.hasPrefix("--"), marks[option] != nil {
                add(option, value, to: &parsable)
                continue
            }
            if isLenient, word == "--url" || word.hasPrefix("--url=") {
                let url = word == "--url" ? words.popFirst() ?? "-" : String(word.dropFirst("--url=".count))
                // a hyphen would make an option of the URL: the parser refuses --url
                parsable.append(url.hasPrefix("-") ? "--url" : url)
                continue
            }
            if readsFiles, let (option, file) = word.halves(at: "="), option == "--config" {
                try open(file, &files, &words, &parsable)
                continue
            }
            if readsFiles, word == "--config", let file = words.popFirst() {
                try open(file, &files, &words, &parsable)
                continue
            }
            // for the parser, the next word would be the value
            if let (option, value) = word.halves(at: "="), value.isEmpty, takesValue(option) {
                add(option, value, to: &parsable)
                continue
            }
            guard word.hasPrefix("-"), !word.hasPrefix("--"), let options = split(word.dropFirst()) else {
                parsable += plain(word)
                continue
            }
            parsable += options.flags.flatMap { plain("-\($0)") }
            guard let letter = options.letter else { continue }
            let value = options.value.isEmpty ? words.popFirst() : String(options.value)
            if readsFiles, letter == "K", let value {
                try open(value, &files, &words, &parsable)
            } else {
                add("-\(letter)", value, to: &parsable)
            }
        }
        return parsable
    }

    /// Puts the options of a file in front of the words that are left. A file may name further files.
    ///
    /// - Parameter parsable: gets the option itself for standard input, so that nothing else reads that.
    private func open(
        _ file: String, _ files: inout Int, _ words: inout ArraySlice<String>, _ parsable: inout [String]
    ) throws(CommandFailure) {
        files += 1
        if file == "-" { parsable += ["--config", "-"] }
        if files > Self.mostFiles {
            throw CommandFailure(.usage, "-K \(file): more than \(Self.mostFiles) files: a file may name itself")
        }
        var found: [String] = []
        for line in try OptionFile.lines(file) {
            let option = line.option
            let short = option.hasPrefix("--") ? nil : split(option.dropFirst())
            let takesValue = longValues.contains(option) || short?.letter != nil && short?.value.isEmpty == true
            switch line.value {
            case nil where takesValue:
                throw CommandFailure(.usage, "line \(line.number) of \(file): \(option) needs a value")
            case _? where !takesValue && !option.hasPrefix("--"):
                throw CommandFailure(.usage, "line \(line.number) of \(file): \(option) takes no value")
            case let value?: found += takesValue ? [option, value] : ["\(option)=\(value)"]
            case nil: found.append(option)
            }
        }
        words = (found + words)[...]
    }

    /// The words in place of a flag or a URL; none for an option that says what holds anyway.
    private func plain(_ word: String) -> [String] {
        // `import` takes the scheme from --anyauth
        guard isLenient, word.hasPrefix("-"), flags != nil || word != "--anyauth" else { return [word] }
        return Self.needless.contains(word) ? [] : Self.otherNames[word] ?? [word]
    }

    /// The flags of a word, and the option with a value at its end; nil for an unknown letter, and for no letters at all.
    private func split(_ word: Substring) -> (flags: Substring, letter: Character?, value: Substring)? {
        let leading = word.prefix { !values.contains($0) }
        if let flags, !leading.allSatisfy(flags.contains) { return nil }
        let rest = word.dropFirst(leading.count)
        return word.isEmpty ? nil : (leading, rest.first, rest.dropFirst())
    }

    /// Whether a long option is no flag; of all words, only those with an empty value ask the parser.
    private func takesValue(_ option: String) -> Bool {
        guard option.hasPrefix("--"), option != "--" else { return false }
        do {
            _ = try parser.type.parseAsRoot(parser.words + ["\(option)=x"])
            return true
        } catch {
            return !parser.type.message(for: error).contains("does not take any value")
        }
    }

    /// A value that begins with a hyphen must stand in the word of its option; a single hyphen is a file.
    private func add(_ option: String, _ value: String?, to words: inout [String]) {
        guard let value else { return words.append(option) }
        if let mark = marks[option] { return words += ["--data", mark.rawValue + value] }
        let option = isLenient ? Self.otherNames[option]?.first ?? option : option
        words += value.hasPrefix("-") && value != "-" ? ["\(option)=\(value)"] : [option, value]
    }
}
