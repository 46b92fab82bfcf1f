// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The grammar of options that curl has and the parser of arguments has not: `-XPOST`, `-sd@file`, and values that begin
/// with a hyphen, as in `-r -100`.
struct ShortOptions {
    /// The letters of options without a value; nil if every other letter is one.
    private let flags: Set<Character>?
    /// The letters of options with a value.
    private let values: Set<Character>
    /// The long options whose value may begin with a hyphen.
    private let longValues: Set<String>

    /// The options of curl itself.
    static let ofCurl = ShortOptions(
        flags: nil, values: Set("AbcCdDeEFhHKmoPQrtTuUwxXyYz"), longValues: longOptions)
    /// The options of the commands for requests.
    static let ofRequests = ShortOptions(
        flags: Set("fGgIiJjkLnOSsvZ"), values: Set("AbcdDeEFHmorTuwxX"), longValues: longOptions)
    /// The options of `websocket`, where `--json` has no value.
    private static let ofWebSockets = ShortOptions(
        flags: ofRequests.flags, values: ofRequests.values,
        longValues: longOptions.subtracting(["--json", "--form-string"]))
    /// The options of commands without forms.
    private static let ofDownloads = ShortOptions(
        flags: ofRequests.flags, values: ofRequests.values, longValues: longOptions.subtracting(["--form-string"]))

    /// The commands with these options.
    private static let commands: Set = [
        "get", "post", "put", "patch", "delete", "head", "download", "sse", "websocket",
    ]

    private static let longOptions: Set = [
        "--cookie", "--cookie-jar", "--data", "--data-ascii", "--data-binary", "--data-raw", "--data-urlencode",
        "--dump-header", "--form", "--form-string", "--header", "--json", "--output", "--range", "--referer",
        "--request", "--upload-file", "--user", "--user-agent", "--write-out",
    ]

    /// The words of a command line, in the grammar of the parser.
    static func parsable(_ words: [String]) -> [String] {
        guard let command = words.first, commands.contains(command) else { return words }
        let options =
            switch command {
            case "websocket": ofWebSockets
            case "download", "sse": ofDownloads
            default: ofRequests
            }
        return [command] + options.parsable(words.dropFirst())
    }

    /// Gives each option a word of its own. A word with an unknown letter stays as it is, for the parser to refuse.
    func parsable(_ words: some Collection<String>) -> [String] {
        var parsable: [String] = []
        var words = Array(words)[...]
        while let word = words.popFirst() {
            if word == "--" { return parsable + [word] + words }
            // the parts of a form keep their order: a service may ignore what stands behind the file
            if word == "--form-string", longValues.contains(word), let form = words.first.flatMap(FormWord.quoted) {
                words.removeFirst()
                Self.add("--form", form, to: &parsable)
                continue
            }
            if longValues.contains(word) {
                Self.add(word, words.popFirst(), to: &parsable)
                continue
            }
            guard word.hasPrefix("-"), !word.hasPrefix("--"), let options = split(word.dropFirst()) else {
                parsable.append(word)
                continue
            }
            parsable += options.flags.map { "-\($0)" }
            guard let letter = options.letter else { continue }
            Self.add("-\(letter)", options.value.isEmpty ? words.popFirst() : String(options.value), to: &parsable)
        }
        return parsable
    }

    /// The flags of a word, and the option with a value at its end; nil for an unknown letter, and for no letters at all.
    private func split(_ word: Substring) -> (flags: Substring, letter: Character?, value: Substring)? {
        let leading = word.prefix { !values.contains($0) }
        if let flags, !leading.allSatisfy(flags.contains) { return nil }
        let rest = word.dropFirst(leading.count)
        return word.isEmpty ? nil : (leading, rest.first, rest.dropFirst())
    }

    /// A value that begins with a hyphen must stand in the word of its option; a single hyphen is a file.
    private static func add(_ option: String, _ value: String?, to words: inout [String]) {
        guard let value else { return words.append(option) }
        words += value.hasPrefix("-") && value != "-" ? ["\(option)=\(value)"] : [option, value]
    }
}
