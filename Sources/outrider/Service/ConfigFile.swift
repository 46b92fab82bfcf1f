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
        "socket", "stdio", "ready-file", "starter-socket", "staged", "config", "no-config", "help", "version",
    ]
    /// The settings that take a list.
    private static let lists: Set = ["allow-uid"]
    /// The settings that name a file or a directory.
    private static let paths: Set = [
        "ca-file", "log-file", "tls-key-log", "credentials", "caches", "routers", "jars", "replay", "public-suffixes",
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
            // sudo -E keeps the home of another user
            var remedy = ""
            if case .foreign = error { remedy = " (set HOME to your own, or OUTRIDER_CONFIG to another file or none)" }
            throw CommandFailure(.usage, "cannot use the configuration \(path): \(error)\(remedy)")
        }
        defer { close(file) }
        var info = stat()
        // a setting can name a command
        guard fstat(file, &info) == 0, info.st_mode & S_IWOTH == 0 else {
            throw CommandFailure(
                .usage, "cannot use the configuration \(path): every user may write to it (chmod o-w \(path))")
        }
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
                let place = JSONPointer(member: key)
                let element = error.element.map { place.appending(JSONPointer(index: $0)) }
                let fault = element.map { YAMLDocument.line(of: $0, in: bytes) } ?? line
                throw CommandFailure(.usage, "\(path), line \(fault): \(error.message)")
            }
        }
        self.entries = entries
    }

    private struct EntryFault: Error {
        let message: String
        /// The place in a list; nil for the whole value.
        var element: Int?
    }

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
        let isList = value.array != nil
        let values = value.array ?? [value]
        for (index, value) in values.enumerated() {
            let element = isList ? index : nil
            let text: String
            switch value {
            case .bool(true):
                words.append("--\(key)")
                continue
            case .string(let written):
                if isRelative(written, of: key) {
                    throw EntryFault(
                        message: "\(key) is a relative path: write ./… (beside the file), ~/… or /…", element: element)
                }
                text = Self.path(written, in: folder)
            case .integer(let number): text = String(number)
            case .real(let number): text = String(number)
            case .written(let written): text = written
            default:
                guard isFlag(key) else { throw EntryFault(message: unknown(key)) }
                throw EntryFault(
                    message: "\(key) must be a text, a number, true or false, or a list of these", element: element)
            }
            // in one word, because a value may begin with a hyphen
            words.append("--\(key)=\(text)")
            texts.append(text)
        }
        try check(words, of: key)
        if isList, !lists.contains(key) {
            guard isFlag(key) else { throw EntryFault(message: unknown(key)) }
            let remedy = words.isEmpty ? "give one, or drop the line" : "write `\(key): \(texts.first ?? "true")`"
            throw EntryFault(message: "\(key) takes a single value: \(remedy)")
        }
        return Entry(key: key, line: line, text: texts.joined(separator: ", "), words: words)
    }

    private static func unknown(_ key: String) -> String {
        let near = complaint(on: ["--\(key)"]).flatMap { ParserComplaint.suggestion(in: $0) } ?? ""
        let isSetting = !near.isEmpty && !refused.contains(near)
        let remedy = isSetting ? "did you mean \(near)?" : "outrider serve --help lists them"
        return "there is no setting \(key) (\(remedy))"
    }

    /// The parser's complaint on these flags; nil if there is none.
    private static func complaint(on words: [String]) -> String? {
        do {
            _ = try ServeOptions.parse(words)
            return nil
        } catch {
            return ServeOptions.message(for: error)
        }
    }

    private static func isFlag(_ key: String) -> Bool {
        !(complaint(on: ["--\(key)"])?.contains("Unknown option") ?? false)
    }

    /// Parses the flags of a single key, so that a fault has its line.
    private static func check(_ words: [String], of key: String) throws(EntryFault) {
        guard let message = complaint(on: words) else { return }
        if message.contains("Unknown option") { throw EntryFault(message: unknown(key)) }
        if message.contains("Missing value") { throw EntryFault(message: "\(key) needs a value") }
        if message.contains("does not take any value") { throw EntryFault(message: "\(key) must be true or false") }
        if message.contains(isInvalid) { throw EntryFault(message: invalid(message, key)) }
        let sentence = message.hasPrefix("Error: ") ? String(message.dropFirst(7)) : message
        throw EntryFault(message: sentence.replacing("--\(key)", with: key))
    }

    private static let isInvalid = "is invalid for '"

    /// The values that the parser offers in place of an invalid one: a few in quotes, more on a line each.
    private static func choices(in message: String) -> [String] {
        guard let offer = message.firstRange(of: "Please provide one of")?.upperBound else { return [] }
        let quoted = message[offer...].split(separator: "'", omittingEmptySubsequences: false)
        if quoted.count > 1 { return stride(from: 1, to: quoted.count, by: 2).map { String(quoted[$0]) } }
        return message[offer...].split(whereSeparator: \.isNewline).compactMap { line -> String? in
            let word = line.drop { $0 == " " }
            return word.hasPrefix("- ") ? String(word.dropFirst(2)) : nil
        }
    }

    /// The sentence on a value of another type, of which the parser says no more than that the value is invalid.
    private static func invalid(_ message: String, _ key: String) -> String {
        let parts = message.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        let value = parts.count > 1 ? String(parts[1]) : ""
        let choices = Self.choices(in: message)
        let takesFractions = !(complaint(on: ["--\(key)=1.5"])?.contains(isInvalid) ?? false)
        let kind = takesFractions ? "a number" : "a whole number, without a unit"
        let expected = choices.isEmpty ? kind : "one of \(choices.joined(separator: ", "))"
        return "\(key) is \(value), and must be \(expected)"
    }

    /// Whether a path depends on the working directory, which is that of the program that happens to start the service.
    private static func isRelative(_ text: String, of key: String) -> Bool {
        let isAnchored = ["/", "~/", "./", "../"].contains { text.hasPrefix($0) }
        if !paths.contains(key) || text.isEmpty || isAnchored { return false }
        switch key {
        case "tls-key-log": return text != "environment"
        case "replay": return text != "-" && !text.hasPrefix("{")
        default: return true
        }
    }

    /// `~/x` in the home of the user, `./x` and `../x` beside the file; other texts unchanged.
    private static func path(_ text: String, in folder: String) -> String {
        if text.hasPrefix("~/"), let home = environmentVariable("HOME") { return home + text.dropFirst() }
        if text.hasPrefix("./") { return folder + text.dropFirst() }
        return text.hasPrefix("../") ? folder + "/" + text : text
    }

    /// The sentence of a failed start, with the place of the setting that the sentence names by its flag.
    ///
    /// - Parameter arguments: of this process; a flag among them wins over the file.
    func placed(_ sentence: String, arguments: [String]) -> String {
        let entry = entries.first { entry in
            let flag = "--\(entry.key)"
            return (sentence.hasPrefix("\(flag):") || sentence.hasPrefix("\(flag),"))
                && Self.variable(over: entry.key) == nil
                && !arguments.contains { $0 == flag || $0.hasPrefix("\(flag)=") }
        }
        return entry.map { "\(sentence) (\(path), line \($0.line))" } ?? sentence
    }

    /// Why no file is read although none has a fault: for commands that show the configuration.
    static var absence: String {
        if let path = usualPath { return "\(path) does not exist" }
        return environmentVariable("OUTRIDER_CONFIG") == nil ? "HOME is not set" : "OUTRIDER_CONFIG is none"
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
