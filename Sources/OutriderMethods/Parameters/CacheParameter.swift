// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// The `cache` member of a request or a session: `true`, `false`, the name of a cache, or how the cache is used.
struct CacheParameter: JSONDecodable {
    private var use: Use

    private enum Use {
        /// `false`.
        case off
        /// `true`.
        case plain
        // most requests have no options, and all copy the parameters
        indirect case changed(Changes)
    }

    fileprivate struct Changes {
        var name: String?
        var mode: CacheSpec.Mode?
        var maxAge: Int?
        var staleIfError: Int?
        var key: KeyParameter?
        var principal: String?
        var tags: [String]?
        var collapse: CollapseParameter?
        var keep: CacheSpec.Keep?
        var cacher: CacherParameter?
        var storage: StorageWord?
        var maxBytes: Int?
    }

    init(json: JSONValue) throws(JSONComplaint) {
        switch json {
        case .bool(let flag): use = flag ? .plain : .off
        case .string(let name):
            if let fault = CacheChoice.fault(inName: name) { throw JSONComplaint(fault) }
            use = .changed(Changes(name: name))
        default:
            guard json.object != nil || json.array?.isEmpty == true else {
                throw JSONComplaint("must be true, false, a name or an object, not \(json.typeName)")
            }
            var fields = try JSONFields(json)
            use = .changed(try Self.read(&fields))
            try fields.finish()
        }
    }

    private static let mostSeconds = 315_360_000

    private static func read(_ fields: inout JSONFields) throws(JSONComplaint) -> Changes {
        var changes = Changes()
        changes.name = try fields.optional("name", check: CacheChoice.fault)
        changes.mode = try fields.choice("mode")
        changes.maxAge = try fields.integer("maxAge", in: 0...mostSeconds)
        changes.staleIfError = try fields.integer("staleIfError", in: 0...mostSeconds)
        changes.key = try fields.optional("key")
        changes.principal = try fields.optional("principal") { (text: String) in
            text.isEmpty || text.utf8.count > 1024 ? "must have 1 to 1024 bytes" : nil
        }
        changes.tags = try fields.tags("tags")
        changes.collapse = try fields.optional("collapse")
        changes.keep = try fields.choice("keep")
        changes.cacher = try fields.optional("cacher")
        changes.storage = try fields.choice("storage")
        changes.maxBytes = try fields.integer("maxBytes", in: 65_536...1_073_741_824)
        return changes
    }

    /// The choice of the request or the session, over a former choice.
    func applied(to earlier: CacheChoice?) -> CacheChoice? {
        var choice = earlier ?? CacheChoice()
        switch use {
        case .off: return nil
        case .plain: break
        case .changed(let changes): changes.apply(to: &choice)
        }
        return choice
    }
}

extension CacheParameter.Changes {
    fileprivate func apply(to choice: inout CacheChoice) {
        if let name { choice.name = name }
        if let mode { choice.spec.mode = mode }
        if let seconds = maxAge { choice.spec.maxAge = Int64(seconds) }  // safe: Int is not wider
        if let seconds = staleIfError { choice.spec.staleIfError = Int64(seconds) }  // safe: as above
        if let key { (choice.spec.ignoredQuery, choice.spec.vary) = (key.ignoredQuery, key.vary) }
        if let principal { choice.spec.principal = principal }
        if let tags { choice.spec.tags = tags }
        if let collapse { choice.spec.collapse = collapse.seconds }
        if let keep { choice.spec.keep = keep }
        if let cacher { (choice.spec.cacher, choice.code) = (cacher.cacher, cacher.code) }
        if let storage { choice.spec.isMemoryOnly = storage == .memory }
        if let bytes = maxBytes { choice.maxBytes = bytes }
    }
}

/// The chosen cache, and its options.
struct CacheChoice: Sendable {
    /// Nil for the session's own cache.
    var name: String?
    var spec = CacheSpec()
    /// The new limit of the cache in bytes; nil keeps the limit.
    var maxBytes: Int?
    /// The client's callback for responses before they are stored.
    var code: CallbackSpec?

    /// Why a text cannot name a cache; nil for a valid name.
    static func fault(inName name: String) -> String? { CookieJars.fault(ofName: name) }
}

extension JSONFields {
    /// The tags of a cached response.
    mutating func tags(_ name: StaticString) throws(JSONComplaint) -> [String]? {
        try texts(name, most: 16) { (1...128).contains($0.utf8.count) ? nil : "must be a tag of 1 to 128 bytes" }
    }
}

/// `{ignoreQuery, vary}`.
private struct KeyParameter: JSONDecodable {
    var ignoredQuery: [String]
    var vary: [String]

    private static let most = 64

    init(json: JSONValue) throws(JSONComplaint) {
        func fault(_ names: [String]) -> String? {
            names.count > Self.most ? "must not hold more than \(Self.most) names" : nil
        }
        var fields = try JSONFields(json)
        ignoredQuery = try fields.optional("ignoreQuery", check: fault) ?? []
        vary = try fields.optional("vary", check: fault) ?? []
        try fields.finish()
    }
}

/// `false`, `true`, or seconds.
private struct CollapseParameter: JSONDecodable {
    /// Nil for `false`.
    var seconds: Double?

    init(json: JSONValue) throws(JSONComplaint) {
        if case .bool(let flag) = json {
            seconds = flag ? CacheSpec().collapse : nil
            return
        }
        guard let number = json.number, (0.001...3600).contains(number) else {
            throw JSONComplaint("must be false, or seconds from 0.001 to 3600")
        }
        seconds = number
    }
}

/// Whether a response that may be stored is stored: "cache", "doNotCache", or `{modify: {callback, decide, timeout}}`.
private struct CacherParameter: JSONDecodable {
    var cacher: CacheSpec.Cacher
    var code: CallbackSpec?

    init(json: JSONValue) throws(JSONComplaint) {
        if case .string(let word) = json {
            switch word {
            case "cache": cacher = .cache
            case "doNotCache": cacher = .doNotCache
            default: throw JSONComplaint("must be \"cache\", \"doNotCache\" or an object")
            }
            return
        }
        var fields = try JSONFields(json)
        let modify: CallbackParameter? = try fields.optional("modify")
        try fields.finish()
        let spec = try JSONFields.need("modify", modify).spec
        (cacher, code) = (.modify(spec.name), spec)
    }
}

/// The storage of a named cache's entries.
enum StorageWord: String, Sendable, CaseIterable { case disk, memory }
