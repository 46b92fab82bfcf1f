// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import OutriderJSON
import OutriderYAML

/// The configuration file of a user: the flags of `outrider serve` without their dashes, in YAML.
///
///     # ~/.config/outrider/config.yaml
///     ca-file: ~/work-ca.pem
///     proxy: http://proxy.example:3128
///     timeout-total: 600
///
/// A flag wins over a variable named `OUTRIDER_…`, such a variable over the file, the file over other variables
/// (`SSL_CERT_FILE`), these over the defaults: the environment of the program that happens to start the service does
/// not override the file.
struct ConfigFile {
    struct Entry {
        /// The flag, without dashes.
        let key: String
        let line: Int
        /// As `outrider config` shows the value.
        let text: String
        /// The equivalent words of a command line.
        let words: [String]
    }

    let path: String
    let entries: [Entry]

    private static let mostBytes = 1 << 20
    /// The service cannot choose its socket, because clients must know where to connect.
    private static let refused: Set = [
        "socket", "stdio", "ready-file", "starter-socket", "config", "no-config", "help", "version",
    ]
    private static let variables = [
        "log-level": "OUTRIDER_LOG", "log-file": "OUTRIDER_LOG_FILE", "log-format": "OUTRIDER_LOG_FORMAT",
        "credentials": "OUTRIDER_CREDENTIALS", "credential-key": "OUTRIDER_CREDENTIAL_KEY",
        "no-device-login": "OUTRIDER_NO_DEVICE_LOGIN", "proxy": "OUTRIDER_PROXY", "caches": "OUTRIDER_CACHES",
        "jars": "OUTRIDER_JARS", "replay": "OUTRIDER_REPLAY", "memory": "OUTRIDER_MEMORY", "loops": "OUTRIDER_LOOPS",
    ]

    /// The variable that wins over a key of the file, if set.
    static func variable(over key: String) -> String? {
        variables[key].flatMap { environmentVariable($0) == nil ? nil : $0 }
    }

    /// The usual path of the file: `$OUTRIDER_CONFIG`, else `outrider/config.yaml` in `$XDG_CONFIG_HOME` or
    /// `~/.config`.
    static var usualPath: String? {
        if let named = environmentVariable("OUTRIDER_CONFIG") { return named == "none" ? nil : named }
        if let folder = environmentVariable("XDG_CONFIG_HOME"), folder.hasPrefix("/") {
            return folder + "/outrider/config.yaml"
        }
        return environmentVariable("HOME").map { $0 + "/.config/outrider/config.yaml" }
    }

    /// The file that a start of the service reads; nil if there is none.
    ///
    /// - Parameter named: a file that has to exist.
    static func load(named: String?) throws(CommandFailure) -> ConfigFile? {
        guard let path = named ?? usualPath else { return nil }
        let mustExist = named != nil || environmentVariable("OUTRIDER_CONFIG") != nil
        let file: CInt
        do throws(FileFault) {
            file = try CheckedFile.open(path, O_RDONLY, [.regular, .owned])
        } catch {
            if !mustExist, Self.isAbsent(path) { return nil }
            throw CommandFailure(.usage, "cannot use the configuration \(path): \(error)")
        }
        defer { close(file) }
        var bytes: [UInt8] = []
        while let piece = try FileBytes.read(file) {
            bytes += piece
            if bytes.count > mostBytes { throw CommandFailure(.usage, "\(path) is longer than \(mostBytes) bytes") }
        }
        return try ConfigFile(bytes, path: path)
    }

    /// Whether the path is absent as far as this user may see: `$HOME` may be that of another user.
    private static func isAbsent(_ path: String) -> Bool {
        var info = stat()
        return stat(path, &info) != 0 && [ENOENT, ENOTDIR, EACCES].contains(errno)
    }

    /// - Throws: the first fault, with its line.
    init(_ bytes: [UInt8], path: String) throws(CommandFailure) {
        self.path = path
        let document: JSONValue
        do throws(YAMLFault) {
            document = try YAMLDocument.parse(bytes)
        } catch {
            throw CommandFailure(.usage, "\(path), line \(error.line): \(error.reason)")
        }
        guard document != .null else {
            entries = []
            return
        }
        guard let members = document.object?.members else {
            throw CommandFailure(.usage, "\(path), line 1: write settings as `name: value`, such as `ca-file: /path`")
        }
        var entries: [Entry] = []
        for member in members {
            let key = member.name
            let line = YAMLDocument.line(of: JSONPointer(member: key), in: bytes)
            do throws(EntryFault) {
                entries.append(try Self.entry(key, member.value, line: line, folder: Self.folder(of: path)))
            } catch {
                throw CommandFailure(.usage, "\(path), line \(line): \(error.message)")
            }
        }
        self.entries = entries
    }

    private struct EntryFault: Error { let message: String }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }

    private static func entry(
        _ key: String, _ value: JSONValue, line: Int, folder: String
    ) throws(EntryFault) -> Entry {
        if refused.contains(key) || key.hasPrefix("-") {
            throw EntryFault(
                message: "\(key) has no place in a configuration (outrider serve --help lists the settings)")
        }
        if value == .bool(false) {
            // absence says the same, but only of a flag without a value
            try check(["--\(key)"], of: key)
            return Entry(key: key, line: line, text: "false", words: [])
        }
        var words: [String] = []
        var texts: [String] = []
        for value in value.array ?? [value] {
            let text: String
            switch value {
            case .bool(true):
                words.append("--\(key)")
                continue
            case .string(let written): text = Self.path(written, in: folder)
            case .integer(let number): text = String(number)
            case .real(let number): text = String(number)
            case .written(let written): text = written
            default:
                guard isFlag(key) else { throw EntryFault(message: unknown(key)) }
                throw EntryFault(message: "\(key) must be a text, a number, true or false, or a list of these")
            }
            // in one word, because a value may begin with a hyphen
            words.append("--\(key)=\(text)")
            texts.append(text)
        }
        try check(words, of: key)
        return Entry(key: key, line: line, text: texts.joined(separator: ", "), words: words)
    }

    private static func unknown(_ key: String) -> String {
        "there is no setting \(key) (outrider serve --help lists them)"
    }

    private static func isFlag(_ key: String) -> Bool {
        do {
            _ = try ServeOptions.parse(["--\(key)"])
            return true
        } catch {
            return !ServeOptions.message(for: error).contains("Unknown option")
        }
    }

    /// Parses the flags of a single key, so that a fault has its line.
    private static func check(_ words: [String], of key: String) throws(EntryFault) {
        do {
            _ = try ServeOptions.parse(words)
        } catch {
            let message = ServeOptions.message(for: error)
            if message.contains("Unknown option") {
                throw EntryFault(message: unknown(key))
            }
            if message.contains("Missing value") { throw EntryFault(message: "\(key) needs a value") }
            if message.contains("does not take any value") {
                throw EntryFault(message: "\(key) must be true or false")
            }
            let sentence = message.hasPrefix("Error: ") ? String(message.dropFirst(7)) : message
            throw EntryFault(message: sentence.replacing("--\(key)", with: key))
        }
    }

    /// `~/x` in the home of the user, `./x` and `../x` beside the file; other texts unchanged.
    private static func path(_ text: String, in folder: String) -> String {
        if text.hasPrefix("~/"), let home = environmentVariable("HOME") { return home + text.dropFirst() }
        if text.hasPrefix("./") { return folder + text.dropFirst() }
        return text.hasPrefix("../") ? folder + "/" + text : text
    }

    /// The flags of all settings that no variable overrules.
    var words: [String] { entries.filter { Self.variable(over: $0.key) == nil }.flatMap(\.words) }
}

extension ConfigFile {
    /// The words of `outrider serve` after the words of the file: the last of repeated flags counts.
    static func extended(_ words: [String]) throws(CommandFailure) -> [String] {
        guard words.first == "serve" else { return words }
        if words.contains("--no-config") || words.contains("--help") || words.contains("-h") { return words }
        var named: String?
        for (index, word) in words.enumerated() {
            if word == "--config", words.indices.contains(index + 1) { named = words[index + 1] }
            if word.hasPrefix("--config=") { named = String(word.dropFirst("--config=".count)) }
        }
        guard let file = try load(named: named), !file.words.isEmpty else { return words }
        return ["serve"] + file.words + words.dropFirst()
    }
}
