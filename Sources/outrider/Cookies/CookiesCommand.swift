// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderJSON

/// The cookies of named jars.
struct CookiesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cookies",
        abstract: "Shows and changes the cookies of a named jar.",
        discussion: """
            A jar is kept on disk, and programs of this user share a jar by its name: outrider get --jar work.

              outrider cookies list work
              outrider cookies list work --url https://example.org/ --values
              outrider cookies explain work https://example.org/ --set 'sid=1; Domain=org'
              outrider cookies import work cookies.txt
              outrider cookies export work > cookies.txt
              outrider cookies delete work --name sid
              outrider cookies clear work --session-only
            """,
        subcommands: [
            List.self, Explain.self, Header.self, Set.self, Delete.self, Clear.self, Import.self, Export.self,
        ])

    /// A single call for a jar.
    ///
    /// - Parameter jar: a jar that must exist; nil if the call makes the jar, or needs none.
    static func call(
        _ method: String, _ params: JSONObject, _ options: ServiceOptions, existing jar: String? = nil
    ) throws(CommandFailure) -> JSONObject {
        var service = try options.connect(orPrivate: true)
        if let jar { try check(jar, over: &service.client) }
        return try service.client.object(method, params, by: Deadline(after: 30))
    }

    /// Throws if there is no such jar.
    private static func check(_ jar: String, over client: inout ServiceClient) throws(CommandFailure) {
        let found = try client.object("cookies.list", ["jar": .string(jar)], by: Deadline(after: 30))
        if found["cookies"]?.array?.isEmpty == true { try StoreNames.jars.check(jar, over: &client) }
    }

    /// Writes why a part of a file set no cookie.
    ///
    /// - Parameter part: the word for the parts of the file.
    static func writeSkipped(_ skipped: JSONObject, of file: String, part: String) {
        let number = skipped["line"]?.integer ?? 0
        let place = number == 0 ? file : "\(file), \(part) \(number)"
        StandardError.line("outrider: \(place): \(skipped["message"]?.string ?? "is broken")")
    }

    /// Writes the changes of cookies, each on a line.
    static func writeChanges(_ result: JSONObject) throws(CommandFailure) {
        for change in result["changes"]?.array ?? [] {
            let change = change.object ?? [:]
            var words = ["kind", "name", "domain", "path"].map { change[$0]?.string ?? "" }
            if let message = change["message"]?.string { words.append(message) }
            try StandardOutput.line(words.map(\.printable).joined(separator: "\t").utf8)
        }
        try checkWritten(result)
    }

    /// Throws if the changes of a jar are not on the disk.
    static func checkWritten(_ result: JSONObject) throws(CommandFailure) {
        guard let problem = result["problem"]?.string else { return }
        throw CommandFailure(.error, "the jar is not on the disk as it should be: \(problem)")
    }
}

/// Selects cookies of a jar.
struct CookieSelection: ParsableArguments {
    @Argument(help: "The jar.")
    var jar: String

    @Option(name: .long, help: "Cookies that go to this URL.")
    var url: String?

    @Option(name: .long, help: "Cookies of this domain and of domains below.")
    var domain: String?

    @Option(name: .long, help: "Cookies of this name.")
    var name: String?

    @Option(name: .long, help: "Cookies of exactly this path.")
    var path: String?

    var params: JSONObject {
        var params: JSONObject = ["jar": .string(jar)]
        if let url { params["url"] = .string(ShellURL.complete(url)) }
        if let domain { params["domain"] = .string(domain) }
        if let name { params["name"] = .string(name) }
        if let path { params["path"] = .string(path) }
        return params
    }
}

extension CookiesCommand {
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists cookies: name, domain, path, end, and other attributes.")

        @OptionGroup var selection: CookieSelection

        @Flag(name: .long, help: "Show values, which are secrets.")
        var values = false

        @Flag(name: .long, help: "As JSON, with values.")
        var json = false

        @OptionGroup var service: ServiceOptions

        func run() throws {
            var service = try service.connect(orPrivate: true)
            let found = try service.client.object("cookies.list", selection.params, by: Deadline(after: 30))
            if let problem = found["problem"]?.string { StandardError.line("outrider: \(problem)") }
            if found["cookies"]?.array?.isEmpty == true {
                try StoreNames.jars.check(selection.jar, over: &service.client)
            }
            if json { return try StandardOutput.line(JSONWriter.bytes(of: found)) }
            for cookie in found["cookies"]?.array ?? [] { try StandardOutput.line(line(cookie.object ?? [:]).utf8) }
        }

        private func line(_ cookie: JSONObject) -> String {
            let domain = cookie["domain"]?.string ?? ""
            let words = [("secure", "Secure"), ("httpOnly", "HttpOnly")].filter { cookie[$0.0] == .bool(true) }.map(\.1)
            return [
                cookie["name"]?.string ?? "", (cookie["hostOnly"] == .bool(true) ? "" : ".") + domain,
                cookie["path"]?.string ?? "", cookie["expiresAt"]?.string ?? "session", words.joined(separator: ","),
                values ? cookie["value"]?.string ?? "" : "",
            ].map(\.printable).joined(separator: "\t")
        }
    }

    struct Explain: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "explain", abstract: "Tells which cookies go to a URL, and why the others do not.")

        @Argument(help: "The jar.")
        var jar: String

        @Argument(help: "The URL.")
        var url: String

        @Option(name: .customLong("set"), help: "A Set-Cookie field of a response to check. May be repeated.")
        var fields: [String] = []

        @OptionGroup var service: ServiceOptions

        func run() throws {
            let params: JSONObject = [
                "jar": .string(jar), "url": .string(ShellURL.complete(url)),
                "setCookie": .array(fields.map { .string($0) }),
            ]
            let found = try CookiesCommand.call("cookies.explain", params, service)
            for cookie in found["stored"]?.array ?? [] {
                try Self.write(cookie.object ?? [:], "sent", "not sent")
            }
            for field in found["received"]?.array ?? [] {
                try Self.write(field.object ?? [:], "taken", "not taken")
            }
        }

        private static func write(_ cookie: JSONObject, _ yes: String, _ no: String) throws(CommandFailure) {
            let isGood = cookie[yes] == .bool(true)
            let words = [
                isGood ? yes : no, cookie["name"]?.string ?? "", cookie["domain"]?.string ?? "",
                cookie["path"]?.string ?? "", cookie["message"]?.string ?? "",
            ]
            try StandardOutput.line(words.map(\.printable).joined(separator: "\t").utf8)
        }
    }

    struct Header: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "header", abstract: "Prints the Cookie field that a request to a URL has, for other programs.")

        @Argument(help: "The jar.")
        var jar: String

        @Argument(help: "The URL.")
        var url: String

        @OptionGroup var service: ServiceOptions

        func run() throws {
            let params: JSONObject = ["jar": .string(jar), "url": .string(ShellURL.complete(url))]
            guard let value = try CookiesCommand.call("cookies.header", params, service)["value"]?.string else {
                return
            }
            try StandardOutput.line("Cookie: \(value)".utf8)
        }
    }

    struct Set: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Sets cookies as a response from a URL does.")

        @Argument(help: "The jar.")
        var jar: String

        @Argument(help: "The URL.")
        var url: String

        @Argument(help: "Set-Cookie fields, such as 'sid=1; Secure; Max-Age=3600'.")
        var fields: [String]

        @OptionGroup var service: ServiceOptions

        func run() throws {
            let params: JSONObject = [
                "jar": .string(jar), "url": .string(ShellURL.complete(url)),
                "setCookie": .array(fields.map { .string($0) }),
            ]
            try CookiesCommand.writeChanges(try CookiesCommand.call("cookies.set", params, service))
        }
    }

    struct Delete: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "delete", abstract: "Removes the cookies of a name.")

        @OptionGroup var selection: CookieSelection

        @OptionGroup var service: ServiceOptions

        func validate() throws {
            if selection.name == nil {
                throw ValidationError("say which with --name; outrider cookies clear removes others")
            }
        }

        func run() throws {
            let result = try CookiesCommand.call(
                "cookies.delete", selection.params, service, existing: selection.jar)
            try CookiesCommand.writeChanges(result)
        }
    }

    struct Clear: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "clear", abstract: "Removes the cookies of a jar, or some of them.")

        @OptionGroup var selection: CookieSelection

        @Flag(name: .long, help: "Only cookies without an end of their own.")
        var sessionOnly = false

        @OptionGroup var service: ServiceOptions

        func run() throws {
            guard selection.name == nil else {
                throw CommandFailure(.usage, "cookies of one name are removed by outrider cookies delete")
            }
            var params = selection.params
            params["sessionOnly"] = .bool(sessionOnly)
            let result = try CookiesCommand.call("cookies.clear", params, service, existing: selection.jar)
            try StandardOutput.line("\(result["deleted"]?.integer ?? 0) deleted".utf8)
            try CookiesCommand.checkWritten(result)
        }
    }

    struct Import: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import",
            abstract: "Puts the cookies of a file of curl, wget or yt-dlp into a jar, or of JSON.")

        @Argument(help: "The jar.")
        var jar: String

        @Argument(help: "The file; - is standard input.", completion: .file())
        var file: String

        @Flag(name: .long, help: "The file is JSON.")
        var json = false

        @OptionGroup var service: ServiceOptions

        func run() throws {
            let member = try StandardInput.member(StandardInput.bytes(of: file))
            let params: JSONObject = [
                "jar": .string(jar), "format": .string(json ? "json" : "netscape"), member.name: member.value,
            ]
            let found: JSONObject
            do throws(CommandFailure) {
                found = try CookiesCommand.call("cookies.import", params, service)
            } catch {
                var failure = error
                // the parameter is the file of the command
                if let message = error.message, message.hasPrefix("\(member.name) ") {
                    failure.message = "\(file == "-" ? "standard input" : file) \(message.dropFirst(5))"
                }
                throw failure
            }
            for one in found["skipped"]?.array ?? [] {
                CookiesCommand.writeSkipped(one.object ?? [:], of: file, part: json ? "cookie" : "line")
            }
            try StandardOutput.line("\(found["imported"]?.integer ?? 0) imported".utf8)
            try CookiesCommand.checkWritten(found)
        }
    }

    struct Export: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export", abstract: "Writes cookies as a file that curl reads.")

        @OptionGroup var selection: CookieSelection

        @Flag(name: .long, help: "As JSON.")
        var json = false

        @Option(
            name: [.short, .long], help: "The file, for its owner only; else standard output.", completion: .file())
        var output: String?

        @OptionGroup var service: ServiceOptions

        func run() throws {
            var params = selection.params
            params["format"] = .string(json ? "json" : "netscape")
            if let output {
                params["file"] = .string(try CommandWords.absolute(output))
                params["replace"] = .bool(true)
            }
            let found = try CookiesCommand.call("cookies.export", params, service, existing: selection.jar)
            for name in found["skipped"]?.array ?? [] {
                StandardError.line(
                    "outrider: the cookie \(name.string ?? "") has a tab or a partition, and cannot stand in such a"
                        + " file (--json writes all cookies)")
            }
            if let text = found["text"]?.string { try StandardOutput.write(Array(text.utf8)) }
        }
    }
}
