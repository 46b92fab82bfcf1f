// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// The arguments of this process as others see them in the list of processes.
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

    /// Where the kernel put the arguments when the process was started (proc(5), `arg_start` and `arg_end`). Nil where it
    /// does not say. What the runtime hands out is a copy.
    private static func area() -> UnsafeMutableBufferPointer<UInt8>? {
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

/// Which parts of a command line are secrets.
enum SecretArguments {
    /// Options with a value that may be one; those in short form may stand behind flags, as in `-su`.
    private static let names: Set<String> = [
        "user", "proxy", "header", "data", "data-binary", "data-raw", "data-urlencode", "json", "form", "form-string",
        "cookie", "set", "pass", "cert", "variable",
    ]
    private static let letters = Array("uxHdFbE".utf8)
    /// Other options in short form that have a value.
    private static let otherLetters = Array("XoAerTmDwc".utf8)

    /// The number of each word, and the bytes in it. The first word is the program.
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
                // the command line of curl in one word
                secret = 0..<word.count
            } else if hasItems, word.first == UInt8(ascii: "{") || url(in: word).isEmpty {
                secret = parameter(in: word)
            }
            for range in secret.map({ [$0] }) ?? url(in: word) where !range.isEmpty { found.append((number, range)) }
        }
        return found
    }

    /// Where the value begins of a secret option in short form; nil if there is none.
    private static func option(in word: [UInt8]) -> Int? {
        for index in word.indices.dropFirst() {
            if letters.contains(word[index]) { return index + 1 }
            if otherLetters.contains(word[index]) { return nil }
        }
        return nil
    }

    /// All of it, but for the name of a file.
    private static func value(in word: [UInt8], from start: Int) -> Range<Int>? {
        guard start < word.count, word[start] != UInt8(ascii: "@") else { return nil }
        return start..<word.count
    }

    /// Of `name=value` and `Name:field` the value, and all of an object.
    private static func parameter(in word: [UInt8]) -> Range<Int>? {
        if word.first == UInt8(ascii: "{") { return 0..<word.count }
        return word.firstIndex { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") }.map { $0 + 1..<word.count }
    }

    /// Of a URL the user and the password, and the query with what follows.
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
