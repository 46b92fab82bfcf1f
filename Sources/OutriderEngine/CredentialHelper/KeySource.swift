// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// The source of the 32-byte key that seals the records.
package enum KeySource: Sendable, Equatable {
    /// Nothing is kept on disk.
    case none
    /// A file of this user with 32 bytes, raw or in hexadecimal.
    case file(String)
    /// A program and its arguments; the key is the first line of its output. Never through a shell.
    case command([String])
    /// The desktop's keyring, through `secret-tool`.
    case secretService
    /// Derived from a passphrase, and kept in the kernel's keyring until the machine stops.
    case passphrase
    /// The bytes themselves: for credentials in the memory of a single service.
    case raw(Secret)

    /// The form in the store, a line each.
    package var lines: [String] {
        switch self {
        case .none, .raw: ["none"]
        case .file(let path): ["file", path]
        case .command(let words): ["command"] + words
        case .secretService: ["secret-service"]
        case .passphrase: ["passphrase"]
        }
    }

    /// The form on the command line: `file:PATH`, `command:WORDS`, `secret-service`, `passphrase`, `none`. Nil for
    /// others.
    package init?(word: String) {
        let parts = word.split(separator: ":", maxSplits: 1).map(String.init)
        guard let kind = parts.first else { return nil }
        let rest = Array(parts.dropFirst())
        self.init(
            lines: [kind] + (kind == "command" ? rest.flatMap { $0.split(separator: " ").map(String.init) } : rest))
    }

    /// Nil for bytes that no version could have written.
    package init?(lines: [String]) {
        let words = Array(lines.dropFirst())
        switch lines.first {
        case "none" where words.isEmpty: self = .none
        case "file" where words.count == 1 && words[0].hasPrefix("/"): self = .file(words[0])
        case "command" where words.first?.isEmpty == false: self = .command(words)
        case "secret-service" where words.isEmpty: self = .secretService
        case "passphrase" where words.isEmpty: self = .passphrase
        default: return nil
        }
    }
}

extension KeySource: Packed {
    package func pack(into writer: inout PackedWriter) {
        if case .raw(let key) = self { return writer.put(1, key) }
        for line in lines { writer.put(2, line) }
    }

    package init(packed scanner: PackedScanner) throws(PackedFault) {
        if let key = try scanner.secret(1) {
            self = .raw(key)
        } else {
            self = try KeySource(lines: try scanner.texts(2)).orFault()
        }
    }
}
