// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CJansson

/// jansson's tree of a text, copied to a JSONValue and freed at once.
///
/// The bytes must be a string, or must have passed JSONScanner, whose depth limit keeps the recursion here shallow.
enum JSONTree {
    /// Why jansson refuses a text.
    struct Fault: Error {
        let reason: String
        /// Bytes from the start of the text to the place of the fault.
        let place: Int
    }

    /// jansson's hash seed must exist before two threads can use the library.
    private static let seeded: Void = json_object_seed(0)
    private static let flags = Int(JSON_ALLOW_NUL | JSON_DECODE_ANY)

    /// Nil if jansson refuses the text, or if an object has two members of the same name.
    ///
    /// - Parameter members: the number of members of all objects. jansson need not check for duplicates, which costs a
    ///   look-up per name: a lower number of members shows them.
    static func value(
        _ bytes: UnsafeBufferPointer<UInt8>, members: Int = 0, putBack cutouts: JSONPlaceholders? = nil
    ) -> JSONValue? {
        _ = seeded
        let start = UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
        guard let tree = json_loadb(start, bytes.count, flags, nil) else { return nil }
        defer { json_decref(tree) }
        var builder = Builder(cutouts: cutouts)
        let value = builder.value(tree)
        return builder.members == members ? value : nil
    }

    /// The same with jansson's own check for duplicates, which describes the fault.
    static func checkedValue(
        _ bytes: UnsafeBufferPointer<UInt8>, putBack cutouts: JSONPlaceholders?
    ) throws(Fault) -> JSONValue {
        var error = json_error_t()
        let flags = Int(JSON_REJECT_DUPLICATES) | Self.flags
        let start = UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
        guard let tree = json_loadb(start, bytes.count, flags, &error) else {
            // safe: Int is wider than C's int
            throw Fault(reason: reason(error), place: Int(error.position).clamped(to: 0...bytes.count))
        }
        defer { json_decref(tree) }
        var builder = Builder(cutouts: cutouts)
        return builder.value(tree)
    }

    private static func reason(_ error: json_error_t) -> String {
        withUnsafeBytes(of: error.text) { raw in
            let text = raw.prefix { $0 != 0 }
            return String(decoding: text, as: UTF8.self)
        }
    }
}

/// Copies jansson's tree to a JSONValue.
private struct Builder {
    let cutouts: JSONPlaceholders?
    /// Of all objects so far.
    private(set) var members = 0

    init(cutouts: JSONPlaceholders?) { self.cutouts = cutouts }

    mutating func value(_ node: UnsafeMutablePointer<json_t>) -> JSONValue {
        switch node.pointee.type {
        case JSON_OBJECT: .object(object(node))
        case JSON_ARRAY: .array(array(node))
        case JSON_STRING: text(json_string_value(node), json_string_length(node))
        case JSON_INTEGER: .integer(json_integer_value(node))
        case JSON_REAL: .real(json_real_value(node))
        case JSON_TRUE: .bool(true)
        case JSON_FALSE: .bool(false)
        default: .null
        }
    }

    private func text(_ start: UnsafePointer<CChar>?, _ length: Int) -> JSONValue {
        if let start, start.pointee == 0, let value = cutouts?.value(for: start, length) { return value }
        return .string(string(start, length))
    }

    private func string(_ start: UnsafePointer<CChar>?, _ length: Int) -> String {
        guard let start else { return "" }
        return UnsafeRawPointer(start).withMemoryRebound(to: UInt8.self, capacity: length) {
            String(decoding: UnsafeBufferPointer(start: $0, count: length), as: UTF8.self)
        }
    }

    private mutating func array(_ node: UnsafeMutablePointer<json_t>) -> [JSONValue] {
        let count = json_array_size(node)
        var values: [JSONValue] = []
        values.reserveCapacity(count)
        for index in 0..<count {
            guard let element = json_array_get(node, index) else { continue }
            values.append(value(element))
        }
        return values
    }

    private mutating func object(_ node: UnsafeMutablePointer<json_t>) -> JSONObject {
        var members: [JSONObject.Member] = []
        let count = json_object_size(node)
        self.members += count
        members.reserveCapacity(count)
        var next = json_object_iter(node)
        while let iterator = next {
            let name = string(json_object_iter_key(iterator), json_object_iter_key_len(iterator))
            if let element = json_object_iter_value(iterator) {
                members.append(JSONObject.Member(name, value(element)))
            }
            next = json_object_iter_next(node, iterator)
        }
        return JSONObject(members: members)
    }
}

extension Int {
    func clamped(to range: ClosedRange<Int>) -> Int {
        Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
    }
}
