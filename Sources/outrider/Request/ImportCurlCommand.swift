// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderJSON

/// Turns a curl command line, copied from a browser or a document, into a call of the service.
struct ImportCurlCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Turns a curl command line into a call.",
        discussion: """
              outrider import "curl -d name=wolf https://example.org/form"
              wl-paste | outrider import -
              outrider import --run "$(wl-paste)"

            Writes the parameters of `data.send` as JSON; secrets in them are shown. With --run the request is made, and the
            body written as by `outrider get`. An option that Outrider has not is named; nothing is run by a shell.
            """)

    @Argument(help: "The command line as a single word, or - for standard input.")
    var line: String

    @Flag(name: .customLong("run"), help: "Make the request.")
    var makesRequest = false

    func run() throws {
        let text = line == "-" ? String(decoding: try StandardInput.whole(most: 1 << 22), as: UTF8.self) : line
        var words = try ShellWords.split(text)
        guard words.first == "curl" || words.first == "curl.exe" else {
            throw CommandFailure(.usage, "the command line does not begin with curl")
        }
        words.removeFirst()
        let call: RequestCall
        do {
            call = try RequestCall.parse(Self.translated(words))
        } catch {
            let message = RequestCall.message(for: error)
            throw CommandFailure(.usage, message.hasPrefix("Error: ") ? String(message.dropFirst(7)) : message)
        }
        if makesRequest { return try call.run(nil) }
        for params in try call.calls(nil) { try StandardOutput.line(JSONWriter.bytes(of: JSONValue.object(params))) }
    }

    /// What differs between curl's command line and ours: curl follows redirects only with `-L`, takes the value of a short
    /// option in the same word, and some options say what holds anyway.
    private static func translated(_ words: [String]) -> [String] {
        var translated: [String] = []
        var follows = false
        var words = words[...]
        while let word = words.popFirst() {
            if let name = translated.last, valueOptions.contains(name) {
                add(word, of: translated.removeLast(), to: &translated)
                continue
            }
            switch word {
            case "--data-ascii": translated.append("--data")
            case "--url": continue
            case "-#", "--progress-bar", "--no-progress-meter", "-N", "--no-buffer", "--path-as-is":
                continue
            default:
                guard word.hasPrefix("-"), word != "-", !word.hasPrefix("--") else {
                    follows = follows || word == "--location"
                    translated.append(word)
                    continue
                }
                let flags = word.dropFirst().prefix { !valueLetters.contains($0) }
                follows = follows || flags.contains("L")
                if !flags.isEmpty { translated.append("-" + flags) }
                guard let letter = word.dropFirst(flags.count + 1).first else { continue }
                let value = word.dropFirst(flags.count + 2)
                guard let value = value.isEmpty ? words.popFirst() : String(value) else {
                    translated.append("-\(letter)")
                    continue
                }
                add(value, of: "-\(letter)", to: &translated)
            }
        }
        return follows ? translated : translated + ["--no-location"]
    }

    /// Letters of short options that have a value.
    private static let valueLetters = Set("AbcCdDeEFhHKmoPQrtTuUwxXyYz")
    /// Long options whose value may begin with a hyphen.
    private static let valueOptions: Set = [
        "--cookie", "--data", "--data-ascii", "--data-binary", "--data-raw", "--data-urlencode", "--form",
        "--form-string", "--header", "--json", "--referer", "--request", "--user", "--user-agent",
    ]

    /// A value that begins with a hyphen must stand in the word of its option.
    private static func add(_ value: String, of option: String, to words: inout [String]) {
        words += value.hasPrefix("-") && value != "-" ? ["\(option)=\(value)"] : [option, value]
    }
}
