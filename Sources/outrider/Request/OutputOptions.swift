// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderHTTP
import OutriderJSON

/// The options of curl for the output and its destination.
struct OutputOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: """
            Write to this file; `-` writes binary bodies, too, to standard output. May be given for each URL; #1 is \
            the choice of the first braces or brackets of the URL.
            """,
        completion: .file())
    var outputs: [String] = []

    @Flag(
        name: [.customShort("O"), .customLong("remote-name")], help: "Write to a file named like the end of the URL.")
    var remoteName = false

    @Flag(
        name: [.customShort("J"), .customLong("remote-header-name")],
        help: "With -O: use the name that the server gives, and never write over a file.")
    var remoteHeaderName = false

    @Option(name: .customLong("output-dir"), help: "The directory for files of -o and -O.", completion: .directory)
    var directory: String?

    @Flag(name: .customLong("create-dirs"), help: "Make the directories of files that do not exist yet.")
    var createDirectories = false

    @Flag(
        name: [.customShort("R"), .customLong("remote-time")],
        help: "Give files the time of Last-Modified.")
    var remoteTime = false

    @Flag(name: .customLong("remove-on-error"), help: "Remove a file whose body did not come whole.")
    var removeOnError = false

    @Option(
        name: .customLong("etag-save"), help: "Write the ETag of the whole response to this file; see --etag-compare.",
        completion: .file())
    var etagSave: String?

    @Option(
        name: [.customShort("D"), .customLong("dump-header")],
        help: "Write the status and the fields to this file; - is standard output.", completion: .file())
    var dumpHeader: String?

    @Flag(name: [.customShort("i"), .long], help: "Write the status and the fields before the body.")
    var include = false

    @Flag(
        name: [.customShort("f"), .long], help: "A status of 400 or above is a failure: write no body, exit with 14.")
    var fail = false

    @Flag(name: .customLong("fail-with-body"), help: "The same, and the body is written.")
    var failWithBody = false

    @Flag(name: .customLong("fail-early"), help: "Make no further request after a failure.")
    var failEarly = false

    @Flag(name: [.customShort("s"), .long], help: "Say nothing about failures.")
    var silent = false

    @Flag(name: [.customShort("S"), .customLong("show-error")], help: "With -s: show no progress, but failures.")
    var showError = false

    @Flag(
        name: [.customShort("v"), .long],
        help: "Write connections, requests and the heads of responses to standard error, secrets masked.")
    var verbose = false

    @Option(
        name: [.customShort("w"), .customLong("write-out")],
        help: "Write this text after the body; %{http_code} and others are variables. @file reads the text from a file."
    )
    var writeOut: String?

    @Option(
        name: .long,
        help: """
            How JSON is written: all (laid out and coloured), colors, format (laid out) or none. On a terminal all, else none.
            """)
    var pretty: JSONStyle?

    func validate() throws {
        if outputs.contains("") { throw ValidationError("--output is empty: name a file, or - for standard output") }
        if dumpHeader == "" {
            throw ValidationError("--dump-header is empty: name a file, or - for standard output")
        }
        if directory == "" { throw ValidationError("--output-dir is empty: name a directory") }
        if remoteName, !outputs.isEmpty { throw ValidationError("give only one of --output and --remote-name") }
        if remoteHeaderName, !remoteName { throw ValidationError("-J chooses the name for -O: add -O") }
        if fail, failWithBody { throw ValidationError("give only one of --fail and --fail-with-body") }
    }

    /// The formatter of JSON output; nil for other bodies, and for unchanged bytes.
    func painter(isShown: Bool, isJSON: Bool) -> JSONPainter? {
        guard isJSON, isShown || pretty != nil else { return nil }
        return (pretty ?? .ofTerminal).painter
    }

    /// Whether a status of 400 or above is a failure.
    var failsByStatus: Bool { fail || failWithBody }

    /// Whether failures are told.
    var tells: Bool { !silent || showError }

    /// The place of the body of a URL.
    func sink(_ path: String?, isNew: Bool = false) throws(CommandFailure) -> BodyOutput {
        if createDirectories, let path, path != "-" { try Self.makeDirectories(of: path) }
        return try BodyOutput(path, isNew: isNew)
    }

    private static func makeDirectories(of path: String) throws(CommandFailure) {
        for index in path.utf8.indices where path.utf8[index] == UInt8(ascii: "/") && index != path.startIndex {
            let directory = String(path[..<index])
            if mkdir(directory, 0o777) != 0, errno != EEXIST, access(directory, F_OK) != 0 {
                throw CommandFailure(
                    code: FailureStatus.file, "cannot make the directory \(directory): \(systemError(errno))")
            }
        }
    }

    /// The file of the body of a URL; nil for standard output.
    func path(url: ShellURL.Expanded, response: JSONObject?) throws(CommandFailure) -> String? {
        var name = outputs.indices.contains(url.word) ? outputs[url.word] : nil
        // one pattern names the files of all URLs with choices
        if name == nil, let only = outputs.first, outputs.count == 1, url.filled(only) != only { name = only }
        if remoteName { name = try Self.remoteName(url.text, response: remoteHeaderName ? response : nil) }
        guard var path = name.map(url.filled), path != "-" else { return name }
        if let directory, !path.hasPrefix("/") { path = directory + (directory.hasSuffix("/") ? "" : "/") + path }
        return path
    }

    /// The names of the files that the bodies of these URLs go to, as far as they are known before the responses.
    func files(of urls: [ShellURL.Expanded]) -> [String] {
        outputs + urls.compactMap { try? path(url: $0, response: nil) }
    }

    /// The name of `-O`: the unchanged last part of the URL's path, or the plain name that the server gives.
    private static func remoteName(_ url: String, response: JSONObject?) throws(CommandFailure) -> String {
        if let response {
            var fields = HTTPFields()
            for field in response["headers"]?.array ?? [] {
                fields.add(field.object?["name"]?.string ?? "", field.object?["value"]?.string ?? "")
            }
            return FileName.suggested(fields, url: try? HTTPURL(parsing: response["url"]?.string ?? url))
        }
        let path = ShellURL.afterScheme(url).prefix { $0 != "?" && $0 != "#" }
        guard let slash = path.lastIndex(of: "/"), let name = Optional(path[path.index(after: slash)...]),
            !name.isEmpty,
            name != ".", name != ".."
        else { throw CommandFailure(.usage, "\(url) ends in no name of a file: choose one with -o FILE") }
        return String(name)
    }
}
