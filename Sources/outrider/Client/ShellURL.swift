// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A URL in the form that people type.
enum ShellURL {
    /// The URL with a scheme: `:8080/x` means this machine, a loopback name or address gets `http`, every other host `https`.
    static func complete(_ word: String) -> String {
        if hasScheme(word) { return word }
        if word == ":" { return "http://localhost" }
        if word.hasPrefix(":/") { return "http://localhost" + word.dropFirst() }
        if word.hasPrefix(":") {
            let port = word.dropFirst().prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            return port.allSatisfy(\.isNumber) ? "http://localhost" + word : word
        }
        let authority = word.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard isAuthority(authority) else { return word }
        return (isLoopback(authority) ? "http://" : "https://") + word
    }

    /// The same with another scheme for a URL without one.
    static func complete(_ word: String, scheme: String) -> String {
        // a colon within credentials ends no scheme
        let at = word.prefix { !"/?#".contains($0) }.lastIndex(of: "@")
        let host = at.map { String(word[$0...].dropFirst()) } ?? word
        let isBare = !hasScheme(word) && complete(host).hasSuffix("://\(host)")
        return isBare ? "\(scheme)://\(word)" : complete(word)
    }

    /// The URL of a server behind a Unix socket, and the host that the server is asked for.
    ///
    /// - Throws: for https, whose certificate would be checked for no host.
    static func through(_ socket: String, _ url: String) throws(CommandFailure) -> (url: String, host: String) {
        guard url.lowercased().hasPrefix("http://") else {
            throw CommandFailure(
                .usage, "--unix-socket: \(url) has another scheme than http: write https+unix://%2Frun%2Fname.sock/path"
            )
        }
        let rest = afterScheme(url)
        let host = rest.prefix { !"/?#".contains($0) }
        if host.contains("@") {
            throw CommandFailure(.usage, "--unix-socket: the URL holds credentials, which are refused: write -u NAME")
        }
        let path = try CommandWords.absolute(socket)
        return ("http+unix://\(DataWords.escaped(Array(path.utf8)))\(rest.dropFirst(host.count))", String(host))
    }

    /// The same for a WebSocket: `ws` in place of `http`.
    static func webSocket(_ word: String) -> String {
        let url = complete(word)
        return !hasScheme(word) && url.hasPrefix("http") ? "ws" + url.dropFirst(4) : url
    }

    /// The host of a URL and the rest of the URL.
    static func afterScheme(_ url: String) -> Substring {
        endOfScheme(url).map { url[$0...].dropFirst(3) } ?? url[...]
    }

    /// Whether the path of a URL ends like the name of a compressed file. Such files are often checked against a published
    /// digest.
    static func isCompressed(_ url: String) -> Bool {
        let path = afterScheme(url).prefix { $0 != "?" && $0 != "#" }
        let endings = [".gz", ".tgz", ".zst"]
        return path.contains("/") && (path.hasSuffix(".Z") || endings.contains(where: path.lowercased().hasSuffix))
    }

    /// Whether a word names a scheme; `host/?next=https://other` names none.
    static func hasScheme(_ word: String) -> Bool { endOfScheme(word) != nil }

    private static func endOfScheme(_ word: String) -> String.Index? {
        guard let mark = word.firstRange(of: "://") else { return nil }
        return word[..<mark.lowerBound].contains { "/?#".contains($0) } ? nil : mark.lowerBound
    }

    /// Whether the text can be a host with a port, in contrast to another scheme such as `mailto:a`.
    private static func isAuthority(_ text: Substring) -> Bool {
        if text.isEmpty || text.contains(" ") { return false }
        if text.hasPrefix("[") { return text.contains("]") }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 1 || (!parts[1].isEmpty && parts[1].allSatisfy(\.isNumber))
    }

    /// Whether `name:value` is a host with its port, and not a field: names of fields have no dots.
    static func isHost(_ name: Substring, port value: Substring) -> Bool {
        let port = value.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard !port.isEmpty, port.allSatisfy(\.isNumber) else { return false }
        return name == "localhost" || (name.contains(".") && !name.contains("/"))
    }

    private static func isLoopback(_ authority: Substring) -> Bool {
        if authority.hasPrefix("[::1]") { return true }
        let host = authority.prefix { $0 != ":" }.lowercased()
        return host == "localhost" || host.hasSuffix(".localhost")
            || (host.hasPrefix("127.") && host.split(separator: ".").count == 4)
    }
}

extension ShellURL {
    /// A URL from a word with braces and brackets, and the chosen replacements.
    struct Expanded {
        var text: String
        fileprivate(set) var choices: [String] = []
        /// The number of the word from which the URL was made.
        var word = 0

        /// A name of a file, with `#1`, `#2` … replaced by the choices, and without any other part of the URL.
        func filled(_ name: String) -> String {
            var filled = ""
            var rest = name[...]
            while let character = rest.popFirst() {
                let digits = rest.prefix { ("0"..."9").contains($0) }
                if character == "#", let number = Int(digits), choices.indices.contains(number - 1) {
                    filled += choices[number - 1].replacing("/", with: "_")
                    rest = rest.dropFirst(digits.count)
                } else {
                    filled.append(character)
                }
            }
            return filled
        }
    }

    /// The most URLs of a command line.
    static let most = 10_000

    /// The URLs that `{a,b}` and `[1-9]`, `[01-10:2]`, `[a-z]` in a word stand for, in the order of curl. A backslash
    /// before a brace or a bracket leaves it as it is, as in the command lines of browsers.
    static func expanded(_ word: String) throws(CommandFailure) -> [Expanded] {
        var found = [Expanded(text: "")]
        var rest = word[...]
        while let character = rest.first {
            if character == "\\", let next = rest.dropFirst().first, "{}[]".contains(next) {
                for index in found.indices { found[index].text.append(next) }
                rest = rest.dropFirst(2)
                continue
            }
            guard let (choices, left) = try choices(rest, in: word) else {
                for index in found.indices { found[index].text.append(character) }
                rest = rest.dropFirst()
                continue
            }
            guard choices.count <= most / found.count else {
                throw CommandFailure(.usage, "\(word) stands for more than \(most) URLs")
            }
            found = found.flatMap { url in
                choices.map { Expanded(text: url.text + $0, choices: url.choices + [$0]) }
            }
            rest = left
        }
        return found
    }

    /// The choices of a group at the beginning of the text; nil without a group, as with the address in `http://[::1]/`.
    private static func choices(
        _ text: Substring, in word: String
    ) throws(CommandFailure) -> (choices: [String], left: Substring)? {
        if text.first == "{", let end = text.firstIndex(of: "}") {
            let inner = text[text.index(after: text.startIndex)..<end]
            if inner.isEmpty { return nil }
            if inner.contains("{") {
                throw CommandFailure(.usage, "\(word): braces within braces: with -g, they stand for themselves")
            }
            let parts = inner.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            return (parts, text[text.index(after: end)...])
        }
        guard text.first == "[", let end = text.firstIndex(of: "]") else { return nil }
        let inner = text[text.index(after: text.startIndex)..<end]
        guard let choices = try range(inner, in: word) else { return nil }
        return (choices, text[text.index(after: end)...])
    }

    private static func range(_ inner: Substring, in word: String) throws(CommandFailure) -> [String]? {
        let stepped = inner.split(separator: ":", omittingEmptySubsequences: false)
        let ends = stepped[0].split(separator: "-", omittingEmptySubsequences: false)
        guard stepped.count <= 2, ends.count == 2 else { return nil }
        let step = stepped.count == 2 ? Int(stepped[1]) ?? 0 : 1
        if let first = Int(ends[0]), let last = Int(ends[1]), first >= 0 {
            guard first <= last, step > 0, (last - first) / step < most else {
                throw CommandFailure(.usage, "\(word): [\(inner)] is no range of at most \(most) numbers")
            }
            let width = ends[0].hasPrefix("0") ? ends[0].count : 0
            return stride(from: first, through: last, by: step).map { number in
                let digits = String(number)
                return String(repeating: "0", count: max(0, width - digits.count)) + digits
            }
        }
        guard ends[0].utf8.count == 1, ends[1].utf8.count == 1, let first = ends[0].utf8.first,
            let last = ends[1].utf8.first, ends[0].allSatisfy(\.isLetter), ends[1].allSatisfy(\.isLetter)
        else { return nil }
        guard first <= last, step > 0 else {
            throw CommandFailure(.usage, "\(word): [\(inner)] is no range of letters")
        }
        return stride(from: Int(first), through: Int(last), by: step).map {
            String(UnicodeScalar(UInt8(truncatingIfNeeded: $0)))
        }
    }
}
