// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderEngine
import OutriderJSON

/// The entries of named caches.
struct CacheCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache",
        abstract: "Shows and removes the stored responses of a named cache.",
        discussion: """
            A cache is kept on disk, and programs of this user share a cache by its name: outrider get --cache docs.

              outrider cache list docs --prefix https://example.org/
              outrider cache get docs https://example.org/
              outrider cache delete docs --older-than 86400
              outrider cache stats docs
            """,
        subcommands: [List.self, Get.self, Delete.self, Stats.self, Verify.self])

    /// A single call for a cache. Throws if the cache does not exist.
    ///
    /// - Parameter isEmpty: whether the result is that of a cache without entries.
    static func call(
        _ method: String, for cache: String, _ params: JSONObject, _ options: ServiceOptions,
        isEmpty: (JSONObject) -> Bool
    ) throws(CommandFailure) -> JSONObject {
        var service = try options.connect(orPrivate: true)
        let found = try service.client.object(method, params, by: Deadline(after: 60))
        if isEmpty(found) { try StoreNames.caches.check(cache, over: &service.client) }
        return found
    }

    /// Writes an entry on a single line.
    static func write(_ entry: JSONObject) throws(CommandFailure) {
        let state = entry["fresh"] == .bool(true) ? "fresh" : "stale"
        let numbers = ["status", "size", "age", "ttl"].map { entry[$0]?.integer.map { "\($0)" } ?? "" }
        let words = [entry["url"]?.string ?? "", state] + numbers
        try StandardOutput.line(words.map(\.printable).joined(separator: "\t").utf8)
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists stored responses: URL, state, status, bytes, age and time to live.")

        @Argument(help: "The cache.")
        var cache: String

        @Option(name: .long, help: "Only URLs that begin so.")
        var prefix: String?

        @Option(name: .long, help: "Only entries with this tag.")
        var tag: String?

        @OptionGroup var service: ServiceOptions

        func run() throws {
            var params: JSONObject = ["cache": .string(cache)]
            if let prefix { params["prefix"] = .string(prefix) }
            if let tag { params["tag"] = .string(tag) }
            var service = try service.connect(orPrivate: true)
            while true {
                let found = try service.client.object("cache.list", params, by: Deadline(after: 60))
                let entries = found["entries"]?.array ?? []
                if entries.isEmpty, params["after"] == nil { try StoreNames.caches.check(cache, over: &service.client) }
                for entry in entries { try CacheCommand.write(entry.object ?? [:]) }
                guard let next = found["next"] else { return }
                params["after"] = next
            }
        }
    }

    struct Get: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "get", abstract: "Shows the stored responses of a URL, as JSON.")

        @Argument(help: "The cache.")
        var cache: String

        @Argument(help: "The URL.")
        var url: String

        @OptionGroup var service: ServiceOptions

        func run() throws {
            let params: JSONObject = ["cache": .string(cache), "url": .string(ShellURL.complete(url))]
            let found = try CacheCommand.call("cache.get", for: cache, params, service) { found in
                found["entries"]?.array?.isEmpty == true
            }
            try StandardOutput.line(JSONWriter.bytes(of: found))
        }
    }

    struct Delete: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "delete", abstract: "Removes stored responses; tells how many.")

        @Argument(help: "The cache.")
        var cache: String

        @Option(name: .long, help: "Entries of this URL.")
        var url: String?

        @Option(name: .long, help: "Entries whose URL begins with this text.")
        var prefix: String?

        @Option(name: .long, help: "Entries with this tag.")
        var tag: String?

        @Option(name: .long, help: "Entries stored more than this many seconds ago.")
        var olderThan: Int?

        @Flag(name: .long, help: "All.")
        var all = false

        @OptionGroup var service: ServiceOptions

        func validate() throws {
            let given = [url != nil, prefix != nil, tag != nil, olderThan != nil, all].count { $0 }
            if given != 1 {
                throw ValidationError("give exactly one of --url, --prefix, --tag, --older-than and --all")
            }
        }

        func run() throws {
            var params: JSONObject = ["cache": .string(cache)]
            if let url { params["url"] = .string(ShellURL.complete(url)) }
            if let prefix { params["prefix"] = .string(prefix) }
            if let tag { params["tag"] = .string(tag) }
            if let olderThan { params["olderThan"] = .integer(Int64(olderThan)) }
            if all { params["all"] = .bool(true) }
            let found = try CacheCommand.call("cache.delete", for: cache, params, service) { found in
                found["deleted"] == .integer(0)
            }
            try StandardOutput.line("\(found["deleted"]?.integer ?? 0)".utf8)
        }
    }

    struct Stats: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "stats", abstract: "Tells how a cache stands, as JSON.")

        @Argument(help: "The cache.")
        var cache: String

        @OptionGroup var service: ServiceOptions

        func run() throws {
            let params: JSONObject = ["cache": .string(cache)]
            let found = try CacheCommand.call("cache.stats", for: cache, params, service) { found in
                found["entries"] == .integer(0)
            }
            try StandardOutput.line(JSONWriter.bytes(of: found))
        }
    }

    struct Verify: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify", abstract: "Looks whether a cache on disk is sound.")

        @Argument(help: "The cache.")
        var cache: String

        @OptionGroup var service: ServiceOptions

        func run() throws {
            var service = try service.connect(orPrivate: true)
            try StoreNames.caches.check(cache, over: &service.client)
            let found = try service.client.object(
                "cache.verify", ["cache": .string(cache)], by: Deadline(after: 60))
            guard let fault = found["fault"]?.string else { return }
            throw CommandFailure(.error, "the cache is damaged: \(fault)")
        }
    }
}

/// The options of commands that send requests through a cache.
struct CacheOptions: ParsableArguments {
    @Option(name: .long, help: "Store responses in this cache, and use stored responses: see outrider cache.")
    var cache: String?

    @Flag(name: .long, help: "Use stored responses only, of any age, and send nothing: needs --cache.")
    var offline = false

    func validate() throws {
        if offline, cache == nil { throw ValidationError("--offline needs --cache NAME: the cache to look into") }
        // names of caches have the form of those of jars
        if let fault = cache.flatMap(CookieJars.fault(ofName:)) { throw ValidationError("--cache \(fault)") }
    }

    /// Adds the member `cache` to a request.
    func add(to request: inout JSONObject) {
        guard let cache else { return }
        request["cache"] =
            offline ? .object(["name": .string(cache), "mode": .string("onlyIfCached")]) : .string(cache)
    }
}
