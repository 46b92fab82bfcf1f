// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The requests of a command line with `--next`, each with URLs and options.
enum NextRequests {
    /// Options that hold for all requests, wherever an option stands: global options of curl, and of the service.
    private static let flags: Set = [
        "-s", "--silent", "-S", "--show-error", "-v", "--verbose", "-Z", "--parallel", "--fail-early", "--stdio",
        "--spawn", "--curl",
    ]
    /// The same with a value.
    private static let values: Set = ["--parallel-max", "--rate", "--socket", "--peer-uid"]

    static func isMark(_ word: String) -> Bool { word == "--next" || word == "-:" }

    /// The words of each request, with the command; a single request without `--next`.
    static func split(_ words: [String]) -> [[String]] {
        let end = words.firstIndex(of: "--") ?? words.endIndex
        guard let command = words.first, ShortOptions.isOfRequests(command), words[..<end].contains(where: isMark)
        else { return [words] }
        var common = [command]
        var parts: [[String]] = [[]]
        var rest = words[1..<end]
        while let word = rest.popFirst() {
            if isMark(word) {
                parts.append([])
            } else if flags.contains(word) || values.contains(where: { word.hasPrefix("\($0)=") }) {
                common.append(word)
            } else if values.contains(word), let value = rest.popFirst() {
                common += [word, value]
            } else {
                parts[parts.count - 1].append(word)
            }
        }
        parts[parts.count - 1] += words[end...]
        return parts.map { common + $0 }
    }

    /// Refuses several requests that read standard input: the second would get nothing.
    static func check(_ calls: [RequestCall]) throws(CommandFailure) {
        if calls.count(where: \.namesInput) < 2 { return }
        throw CommandFailure(
            .usage, "standard input can be read once, and several requests of --next name it: write a file for each")
    }

    /// Makes the requests in their order. The status comes from the last failure; each failure is told at once.
    static func run(_ requests: [() throws -> Void], failsEarly: Bool) throws {
        var code: Int32?
        for request in requests {
            do {
                try request()
            } catch let failure as CommandFailure {
                failure.report()
                code = failure.code
                if failsEarly { break }
            }
        }
        if let code { throw CommandFailure(code: code, nil) }
    }
}
