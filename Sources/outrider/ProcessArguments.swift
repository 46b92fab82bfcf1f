// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// The arguments of this process as the list of processes shows them.
enum ProcessArguments {
    /// Overwrites secrets in the memory that the kernel shows as the command line (`/proc/PID/cmdline`). The arguments must
    /// have been read before.
    static func hideSecrets() {
        guard let area = area() else { return }
        var words: [[UInt8]] = []
        var starts: [Int] = []
        var start = 0
        while start < area.count {
            let end = area[start...].firstIndex(of: 0) ?? area.count
            starts.append(start)
            words.append(Array(area[start..<end]))
            start = end + 1
        }
        for (word, range) in SecretArguments.ranges(in: words) {
            for index in range { area[starts[word] + index] = UInt8(ascii: "*") }
        }
    }

    /// The kernel's copy of the arguments (proc(5), `arg_start` and `arg_end`); the runtime has only a copy of its own.
    /// Nil if the kernel does not tell.
    private static func area() -> UnsafeMutableBufferPointer<UInt8>? {
        if CommandLine.argc == 0 {
            let words = CommandLineWords.pointers
            guard let first = words.first, let last = words.last, last >= first else { return nil }
            let start = UnsafeMutableRawPointer(first).assumingMemoryBound(to: UInt8.self)
            return UnsafeMutableBufferPointer(start: start, count: last - first + strlen(last))
        }
        let file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var text = [UInt8](repeating: 0, count: 4096)
        let count = read(file, &text, text.count)
        guard count > 0, let name = text[..<count].lastIndex(of: UInt8(ascii: ")")) else { return nil }
        // the name of the program is the second field, and may hold spaces
        let fields = String(decoding: text[(name + 1)..<count], as: UTF8.self).split(separator: " ")
        guard fields.count > 46, let start = UInt(fields[45]), let end = UInt(fields[46]), end > start,
            let memory = UnsafeMutablePointer<UInt8>(bitPattern: start)
        else { return nil }
        return UnsafeMutableBufferPointer(start: memory, count: Int(clamping: end - start))
    }
}

/// Finds the secrets in a command line.
enum SecretArguments {
    /// Options whose value may be a secret; short options may follow flags, as in `-su`.
    private static let names: Set<String> = [
        "user", "proxy", "header", "data", "data-binary", "data-raw", "data-urlencode", "json", "form", "form-string",
        "cookie", "set", "pass", "cert", "variable", "oauth2-bearer", "proxy-user", "url-query",
    ]
    private static let letters = Array("uUxHdFbE".utf8)
    /// Other short options with a value.
    private static let otherLetters = Array("XoAerTmDwczK".utf8)

    /// The secrets: the number of each word, and the bytes in the word. The first word is the program.
    static func ranges(in words: [[UInt8]]) -> [(word: Int, bytes: Range<Int>)] {
        var found: [(word: Int, bytes: Range<Int>)] = []
        let command = words.count > 1 ? String(decoding: words[1], as: UTF8.self) : ""
        let hasItems = ["call", "get", "post", "put", "patch", "delete", "head", "cookies"].contains(command)
        var isValue = false
        for (number, word) in words.enumerated().dropFirst() {
            var secret: Range<Int>?
            if isValue {
                secret = value(in: word, from: 0)
                isValue = false
            } else if word.starts(with: "--".utf8) {
                let end = word.firstIndex(of: UInt8(ascii: "=")) ?? word.count
                if names.contains(String(decoding: word[2..<end], as: UTF8.self)) {
                    isValue = end == word.count
                    secret = value(in: word, from: end + 1)
                }
            } else if word.first == UInt8(ascii: "-"), let place = option(in: word) {
                isValue = place == word.count
                secret = value(in: word, from: place)
            } else if command == "import" {
                // a command line of curl in a single word
                secret = 0..<word.count
            } else if hasItems, word.first == UInt8(ascii: "{") || !isURL(word, of: command) {
                secret = parameter(in: word)
            }
            for range in secret.map({ [$0] }) ?? url(in: word) where !range.isEmpty { found.append((number, range)) }
        }
        return found
    }

    /// The start of the value of a short option with a secret; nil if there is none.
    private static func option(in word: [UInt8]) -> Int? {
        for index in word.indices.dropFirst() {
            if letters.contains(word[index]) { return index + 1 }
            if otherLetters.contains(word[index]) { return nil }
        }
        return nil
    }

    /// The whole value, except the name of a file.
    private static func value(in word: [UInt8], from start: Int) -> Range<Int>? {
        guard start < word.count, word[start] != UInt8(ascii: "@") else { return nil }
        return start..<word.count
    }

    /// The value of `name=value` and `Name:field`, and the whole of an object.
    private static func parameter(in word: [UInt8]) -> Range<Int>? {
        if word.first == UInt8(ascii: "{") { return 0..<word.count }
        return word.firstIndex { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") }.map { $0 + 1..<word.count }
    }

    /// Whether a word is shown as a URL, and not as `name=value`.
    private static func isURL(_ word: [UInt8], of command: String) -> Bool {
        !url(in: word).isEmpty && (command == "call" || !ItemWords.isItem(String(decoding: word, as: UTF8.self)))
    }

    /// The user and the password of a URL, and the query with the rest.
    private static func url(in word: [UInt8]) -> [Range<Int>] {
        let slashes = Array("://".utf8)
        guard let scheme = word.indices.first(where: { word[$0...].starts(with: slashes) }) else { return [] }
        let start = scheme + slashes.count
        let ends = Array("/?#".utf8)
        let end = word[start...].firstIndex { ends.contains($0) } ?? word.count
        let user = word[start..<end].lastIndex(of: UInt8(ascii: "@")) ?? start
        let query = word[end...].firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? word.count
        return [start..<user, min(query + 1, word.count)..<word.count]
    }
}
