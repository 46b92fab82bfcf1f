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
            if let advice = OptionAdvice.line(for: message, of: "get") { throw CommandFailure(.usage, advice) }
            let sentence = ParserComplaint.pruned(message)
            throw CommandFailure(.usage, sentence.hasPrefix("Error: ") ? String(sentence.dropFirst(7)) : sentence)
        }
        if makesRequest { return try call.run(nil) }
        if call.cookies.hasJar {
            StandardError.line(
                "outrider: files of -b and -c are left out: a jar belongs to a session (--run uses them)")
        }
        for params in try call.calls(nil) { try StandardOutput.line(JSONWriter.bytes(of: JSONValue.object(params))) }
    }

    /// What differs between curl's command line and ours: curl follows redirects only with `-L`, and some options say what
    /// holds anyway.
    private static func translated(_ words: [String]) -> [String] {
        var translated: [String] = []
        var follows = false
        for word in ShortOptions.ofCurl.parsable(words) {
            switch word {
            case "--url", "-#", "--progress-bar", "--no-progress-meter", "-N", "--no-buffer", "--path-as-is": continue
            case "-L", "--location": follows = true
            default: break
            }
            let isURL = word.hasPrefix("--url=")
            translated.append(word == "--data-ascii" ? "--data" : isURL ? String(word.dropFirst(6)) : word)
        }
        return follows ? translated : translated + ["--no-location"]
    }
}
