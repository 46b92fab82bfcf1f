// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import OutriderEngine
import OutriderHTTP
package import OutriderJSON

/// A ReplaySpec of the contract: a cassette, and how requests are compared with its entries.
package struct ReplayParameter: JSONDecodable, Sendable {
    private(set) var settings: Tape.Settings

    private static let most = 1000

    package init(json: JSONValue) throws(JSONComplaint) {
        self = try ReplayParameter(rest: try JSONFields(json))
    }

    /// Reads the rest of the members.
    init(rest fields: consuming JSONFields) throws(JSONComplaint) {
        let path: String? = try fields.optional("path") { (path: String) in
            path.hasPrefix("/") ? nil : "must be absolute"
        }
        settings = Tape.Settings(path: "")
        settings.mode = try fields.choice("mode") ?? .once
        if let match: MatchParameter = try fields.optional("match") { match.apply(to: &settings.matcher) }
        if let ignore: IgnoreParameter = try fields.optional("ignore") { ignore.apply(to: &settings.matcher) }
        if let mask: MaskParameter = try fields.optional("mask") { mask.apply(to: &settings) }
        settings.only = try Self.patterns("only", &fields)
        settings.except = try Self.patterns("except", &fields)
        settings.timing = try fields.optional("timing", as: TimingParameter.self)?.timing ?? .none
        settings.afterLast = try fields.choice("repeat") ?? .fail
        try fields.finish()
        settings.path = try JSONFields.need("path", path)
    }

    /// A cassette in JSON, as `serve --replay` takes it.
    package static func settings(parsing text: String) throws(JSONComplaint) -> Tape.Settings {
        let json: JSONValue
        do throws(JSONFailure) {
            json = try JSONParser.parse(Array(text.utf8))
        } catch {
            throw JSONComplaint(error.reason)
        }
        return try ReplayParameter(json: json).settings
    }

    private static func patterns(
        _ name: StaticString, _ fields: inout JSONFields
    ) throws(JSONComplaint) -> [URLPattern] {
        let texts = try texts(name, &fields)
        var patterns: [URLPattern] = []
        for (index, text) in texts.enumerated() {
            do throws(PatternFault) {
                patterns.append(try URLPattern(text))
            } catch {
                throw JSONComplaint(
                    "\(name)[\(index)] \(error.message)", at: JSONPointer(index: index).under(member: "\(name)"))
            }
        }
        return patterns
    }

    fileprivate static func texts(
        _ name: StaticString, _ fields: inout JSONFields, most: Int = most
    ) throws(JSONComplaint) -> [String] {
        try fields.optional(name) { (list: [String]) in
            list.count > most ? "must not hold more than \(most)" : nil
        } ?? []
    }
}

/// The `match` of a cassette.
private struct MatchParameter: JSONDecodable {
    private var fields: [String]
    private var host: Bool?
    private var body: Bool?

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        self.fields = try ReplayParameter.texts("headers", &fields, most: 100)
        host = try fields.optional("host")
        body = try fields.optional("body")
        try fields.finish()
    }

    func apply(to matcher: inout RequestMatcher) {
        matcher.fields = fields
        matcher.comparesHost = host ?? true
        matcher.comparesBody = body ?? true
    }
}

/// The `ignore` of a cassette.
private struct IgnoreParameter: JSONDecodable {
    private var query: [String]
    private var body: [String]

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        query = try ReplayParameter.texts("query", &fields)
        body = try ReplayParameter.texts("body", &fields)
        try fields.finish()
        try MaskParameter.check(pointers: body, "body")
    }

    func apply(to matcher: inout RequestMatcher) {
        matcher.ignoredQuery = Set(query)
        matcher.ignoredBody = body
    }
}

/// The `mask` of a cassette.
private struct MaskParameter: JSONDecodable {
    private var headers: [String]
    private var query: [String]
    private var body: [String]
    private var values: [String]
    private var show: [String]

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        headers = try ReplayParameter.texts("headers", &fields)
        query = try ReplayParameter.texts("query", &fields)
        body = try ReplayParameter.texts("body", &fields)
        values = try ReplayParameter.texts("values", &fields)
        show = try ReplayParameter.texts("show", &fields)
        try fields.finish()
        try Self.check(pointers: body, "body")
        if values.reduce(0, { $0 &+ $1.utf8.count }) > Self.mostBytes {
            throw JSONComplaint(
                "values must not have more than \(Self.mostBytes) bytes together", at: JSONPointer(member: "values"))
        }
    }

    static func check(pointers: [String], _ member: String) throws(JSONComplaint) {
        for (index, pointer) in pointers.enumerated() where !pointer.hasPrefix("/") {
            throw JSONComplaint(
                "\(member)[\(index)] must be a JSON pointer such as /id",
                at: JSONPointer(index: index).under(member: member))
        }
    }

    /// Bytes of the shortest value that is masked.
    private static let shortest = 4
    /// Bytes of all values: each is held in some twenty forms.
    private static let mostBytes = 64 << 10

    func apply(to settings: inout Tape.Settings) {
        settings.mask.names.fields = Set(headers.map { $0.lowercased() })
        settings.mask.names.parameters = Set(query.map { $0.lowercased() })
        settings.mask.names.shown = Set(show.map { $0.lowercased() })
        settings.mask.pointers = body
        var found = FoundSecrets()
        var bytes = 0
        for (index, value) in values.enumerated() {
            // a value may be a secret that begins with a dollar sign: messages show none
            guard let text = Self.text(of: value) else {
                settings.maskFault = "mask.values[\(index)] names a variable that is not set where the service runs"
                continue
            }
            if text.utf8.count < Self.shortest {
                settings.maskFault =
                    "mask.values[\(index)] is shorter than \(Self.shortest) bytes, and would be masked nowhere"
            }
            bytes &+= text.utf8.count
            if bytes > Self.mostBytes {
                settings.maskFault = "mask.values have more than \(Self.mostBytes) bytes together"
                break
            }
            found.add(text, shortest: Self.shortest)
        }
        settings.secrets = found
    }

    /// The value, or that of the variable that it names; nil if there is no such variable.
    private static func text(of value: String) -> String? {
        guard value.hasPrefix("$") else { return value }
        return getenv(String(value.dropFirst())).map { String(cString: $0) }
    }
}

/// The `timing` of a cassette: a word, or a factor.
private struct TimingParameter: JSONDecodable {
    var timing: ReplayTiming

    init(json: JSONValue) throws(JSONComplaint) {
        switch json {
        case .string("none"): timing = .none
        case .string("recorded"): timing = .factor(1)
        default:
            guard let factor = json.number, (0...1000).contains(factor) else {
                throw JSONComplaint("must be none, recorded, or a factor from 0 to 1000")
            }
            timing = factor == 0 ? .none : .factor(factor)
        }
    }
}
