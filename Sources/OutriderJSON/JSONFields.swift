// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A type that can be decoded from JSON.
package protocol JSONDecodable: SendableMetatype {
    init(json: JSONValue) throws(JSONComplaint)
}

/// Reads the members of an object, each once, strictly: `finish` refuses members that were not read, so that a typo
/// never passes silently.
///
///     var fields = try JSONFields(json)
///     let seconds: Double? = try fields.optional("seconds")
///     limit = try fields.optional("limit") ?? 2
///     try fields.finish()
///     self.seconds = try JSONFields.need("seconds", seconds)
///
/// `null` is the same as absent. Complaints carry a pointer that begins at this object.
package struct JSONFields: ~Copyable {
    private let object: JSONObject
    /// The names read so far; recorded only while unread members may remain.
    private var asked: [StaticString] = []
    /// The unread members, a bit each; meaningless for more than 64 members.
    private var unasked: UInt64
    /// The lengths of the members' names, modulo 64, a bit each: most names that are read are absent.
    private let lengths: UInt64

    /// The empty array counts as the empty object, because Lisp and Lua cannot tell them apart.
    package init(_ json: JSONValue) throws(JSONComplaint) {
        switch json {
        case .object(let object): self.object = object
        case .array(let array) where array.isEmpty: object = JSONObject()
        default: throw JSONComplaint("must be an object, not \(json.typeName)")
        }
        let count = object.members.count
        var lengths: UInt64 = 0
        for member in object.members { lengths |= Self.bit(member.name.utf8.count) }
        self.lengths = lengths
        unasked = count < 64 ? (1 << UInt64(clamping: count)) &- 1 : .max
    }

    /// The member's value, or nil if absent or null.
    ///
    /// Records the name as known.
    package mutating func value(_ name: StaticString) -> JSONValue? {
        if hasMore {
            if asked.isEmpty { asked.reserveCapacity(32) }
            asked.append(name)
        }
        guard lengths & Self.bit(name.utf8CodeUnitCount) != 0 else { return nil }
        // members are compared in place: a copy of each costs more than the comparison
        for index in object.members.indices where Self.same(object.members[index].name, name) {
            if index < 64 { unasked &= ~(1 << UInt64(clamping: index)) }
            let value = object.members[index].value
            if case .null = value { return nil }
            return value
        }
        return nil
    }

    package mutating func optional<T: JSONDecodable>(
        _ name: StaticString, as type: T.Type = T.self
    ) throws(JSONComplaint) -> T? {
        guard let value = value(name) else { return nil }
        do {
            return try T(json: value)
        } catch {
            throw Self.named(error, name)
        }
    }

    /// The value, or the complaint that the member is missing. Called after `finish`, so that misspelt names are found
    /// first.
    package static func need<Value>(_ name: StaticString, _ value: Value?) throws(JSONComplaint) -> Value {
        if let value { return value }
        throw JSONComplaint("\(name) is required", at: JSONPointer(member: name.description))
    }

    /// Reads and checks: `check` returns the fault, as "must be …", or nil.
    package mutating func optional<T: JSONDecodable>(
        _ name: StaticString, as type: T.Type = T.self, check: (T) -> String?
    ) throws(JSONComplaint) -> T? {
        guard let json = value(name) else { return nil }
        do throws(JSONComplaint) {
            let value = try T(json: json)
            if let fault = check(value) { throw JSONComplaint(fault) }
            return value
        } catch {
            throw Self.named(error, name)
        }
    }

    /// Whether unread members may remain; if not, all further names are absent.
    package var hasMore: Bool { unasked != 0 || object.members.count > 64 }

    /// All members, for objects whose names are the client's own.
    package var all: JSONObject { object }

    /// The names that are present (not null): for unions, where exactly one of several keys is allowed.
    package func present(_ names: [StaticString]) -> [StaticString] {
        names.filter { name in
            object.members.contains { Self.same($0.name, name) && $0.value != .null }
        }
    }

    /// Refuses members that were not read.
    ///
    /// `_meta` is accepted everywhere, and ignored: the libraries of the Model Context Protocol add that member.
    package consuming func finish() throws(JSONComplaint) {
        if !hasMore { return }
        for member in object.members where !asked.contains(where: { Self.same(member.name, $0) }) {
            if member.name == "_meta" { continue }
            throw JSONComplaint(
                "unknown parameter \(member.name.excerpt)",
                at: JSONPointer(member: member.name.excerpt),
                known: Self.names(asked)
            )
        }
    }

    /// Makes a complaint from inside a member relative to this object.
    ///
    /// A complaint about the member itself is prefixed with its name.
    private static func named(_ complaint: JSONComplaint, _ name: StaticString) -> JSONComplaint {
        var complaint = complaint
        if complaint.pointer == .root { complaint.message = "\(name) \(complaint.message)" }
        return complaint.under(member: name.description)
    }

    /// Each name once, in the order of reading: some members are read twice.
    private static func names(_ asked: [StaticString]) -> [String] {
        var names: [String] = []
        for name in asked.map(\.description) where !names.contains(name) { names.append(name) }
        return names
    }

    private static func bit(_ length: Int) -> UInt64 { 1 << UInt64(truncatingIfNeeded: length & 63) }

    private static func same(_ text: String, _ name: StaticString) -> Bool {
        let length = name.utf8CodeUnitCount
        guard text.utf8.count == length else { return false }
        let name = UnsafeBufferPointer(start: name.utf8Start, count: length)
        let isSame = text.utf8.withContiguousStorageIfAvailable { text in
            for index in 0..<length where text[index] != name[index] { return false }
            return true
        }
        return isSame ?? text.utf8.elementsEqual(name)
    }
}

extension JSONValue: JSONDecodable {
    package init(json: JSONValue) { self = json }
}

extension JSONObject: JSONDecodable {
    package init(json: JSONValue) throws(JSONComplaint) {
        switch json {
        case .object(let object): self = object
        case .array(let array) where array.isEmpty: self = JSONObject()
        default: throw JSONComplaint("must be an object, not \(json.typeName)")
        }
    }
}

extension Bool: JSONDecodable {
    package init(json: JSONValue) throws(JSONComplaint) {
        guard case .bool(let flag) = json else { throw JSONComplaint("must be true or false, not \(json.typeName)") }
        self = flag
    }
}

extension String: JSONDecodable {
    package init(json: JSONValue) throws(JSONComplaint) {
        guard case .string(let text) = json else { throw JSONComplaint("must be a string, not \(json.typeName)") }
        self = text
    }
}

extension Double: JSONDecodable {
    package init(json: JSONValue) throws(JSONComplaint) {
        guard let number = json.number else { throw JSONComplaint("must be a number") }
        self = number
    }
}

extension Int64: JSONDecodable {
    package init(json: JSONValue) throws(JSONComplaint) {
        guard let number = json.integer else { throw JSONComplaint("must be an integer, not \(json.typeName)") }
        self = number
    }
}

extension Int: JSONDecodable {
    package init(json: JSONValue) throws(JSONComplaint) {
        let number = try Int64(json: json)
        self = Int(truncatingIfNeeded: number)
    }
}

extension Array: JSONDecodable where Element: JSONDecodable {
    /// The empty object counts as the empty array, because Lisp and Lua cannot tell them apart.
    package init(json: JSONValue) throws(JSONComplaint) {
        if case .object(let object) = json, object.isEmpty {
            self = []
            return
        }
        guard case .array(let values) = json else { throw JSONComplaint("must be an array, not \(json.typeName)") }
        self = []
        reserveCapacity(values.count)
        for (index, value) in values.enumerated() {
            do {
                append(try Element(json: value))
            } catch {
                throw error.under(index: index)
            }
        }
    }
}

extension Secret: JSONDecodable {
    package init(json: JSONValue) throws(JSONComplaint) {
        switch json {
        case .secret(let secret): self = secret
        case .string(let text): self.init(text)
        default: throw JSONComplaint("must be a string, not \(json.typeName)")
        }
    }
}
