// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Users and passwords by host, in the format of `.netrc` files (netrc(5), with the quotes of curl).
package struct Netrc: Sendable {
    private struct Entry {
        /// Nil for `default`.
        var machine: String?
        var login: String?
        var password: String?
    }

    private var entries: [Entry] = []

    /// Reads all that looks like an entry; other words are skipped.
    package init(_ text: String) {
        var words = Words(text)
        while let word = words.next() {
            // curl takes keywords in any case
            switch word.lowercased() {
            case "machine": entries.append(Entry(machine: words.next()?.lowercased() ?? ""))
            case "default": entries.append(Entry())
            case "login": change(words.next()) { $0.login = $1 }
            case "password": change(words.next()) { $0.password = $1 }
            case "account": _ = words.next()
            case "macdef": words.skipMacro()
            default: break
            }
        }
    }

    private mutating func change(_ value: String?, _ set: (inout Entry, String?) -> Void) {
        guard let last = entries.indices.last else { return }
        set(&entries[last], value)
    }

    /// The credential of the first entry for the host, or of `default`.
    ///
    /// - Parameter login: the user; nil for any.
    package func credential(host: String, login: String? = nil) -> UserCredential? {
        let host = host.lowercased()
        for entry in entries where entry.machine == nil || entry.machine == host {
            guard let user = entry.login ?? login, login == nil || user == login else { continue }
            return UserCredential(user, entry.password ?? "")
        }
        return nil
    }

    /// Words between white space; a word in quotes may hold white space, quotes and escapes. A word that begins with a
    /// number sign begins a comment, except as the value of a password.
    private struct Words {
        private var rest: Substring.UTF8View
        private var wantsPassword = false

        init(_ text: String) { rest = text[...].utf8 }

        mutating func next() -> String? {
            while true {
                rest = rest.drop { Self.isSpace($0) }
                guard let first = rest.first else { return nil }
                if first == UInt8(ascii: "#"), !wantsPassword {
                    rest = rest.drop { $0 != UInt8(ascii: "\n") }
                    continue
                }
                let word = first == UInt8(ascii: "\"") ? quoted() : plain()
                wantsPassword = !wantsPassword && word.lowercased() == "password"
                return word
            }
        }

        private mutating func plain() -> String {
            let word = rest.prefix { !Self.isSpace($0) }
            rest = rest[word.endIndex...]
            return String(decoding: word, as: UTF8.self)
        }

        private mutating func quoted() -> String {
            var bytes: [UInt8] = []
            rest = rest.dropFirst()
            while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
                guard byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() else {
                    bytes.append(byte)
                    continue
                }
                switch escaped {
                case UInt8(ascii: "n"): bytes.append(0x0A)
                case UInt8(ascii: "r"): bytes.append(0x0D)
                case UInt8(ascii: "t"): bytes.append(0x09)
                default: bytes.append(escaped)
                }
            }
            return String(decoding: bytes, as: UTF8.self)
        }

        /// A macro ends with an empty line.
        mutating func skipMacro() {
            var lineIsEmpty = false
            while let byte = rest.popFirst() {
                guard byte == UInt8(ascii: "\n") else {
                    lineIsEmpty = lineIsEmpty && Self.isSpace(byte)
                    continue
                }
                if lineIsEmpty { return }
                lineIsEmpty = true
            }
        }

        private static func isSpace(_ byte: UInt8) -> Bool {
            byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
        }
    }
}
