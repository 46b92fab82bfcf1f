// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CYaml
package import OutriderJSON

/// Why a text is not an acceptable YAML document, with the place.
package struct YAMLFault: Error, Equatable {
    /// A sentence without the place.
    package var reason: String
    /// From 1.
    package var line: Int
    /// The innermost value that had begun there.
    package var pointer: JSONPointer
}

/// Limits on a document.
package struct YAMLLimits: Sendable {
    package var bytes = 32 << 20
    /// The depth of nested lists and maps, as if each alias were written out.
    package var depth = 128
    /// Values, counted as if each alias were written out: aliases of aliases cannot grow without bound.
    package var values = 2_000_000
    /// Bytes of the document's texts and keys, counted as if each alias were written out.
    package var text = 64 << 20

    package init() {}
}

/// A YAML document as a JSON value: the core schema of YAML 1.2, in which `no` is a text and only `true` and `false`
/// are booleans.
///
/// libyaml finds the structure; the code here decides the meaning of plain words. Refused: several documents, custom
/// tags, keys that are no texts or occur twice, and anchors that refer to themselves.
package struct YAMLDocument: ~Copyable {
    private var reader: YAMLEvents
    private let limits: YAMLLimits
    private var anchors: [String: Anchored] = [:]
    private var values = 0
    private var text = 0
    private var path: [JSONPointer] = []

    package static func parse(
        _ bytes: [UInt8], limits: YAMLLimits = YAMLLimits()
    ) throws(YAMLFault) -> JSONValue {
        if bytes.count > limits.bytes {
            throw YAMLFault(reason: "the document is longer than \(limits.bytes) bytes", line: 1, pointer: .root)
        }
        var document = YAMLDocument(bytes, limits)
        return try document.whole()
    }

    /// The value of an anchor, and the amounts that each alias adds to the document.
    private struct Anchored {
        var value: JSONValue
        var values: Int
        var text: Int
        /// The depth of nested lists and maps; 0 for a scalar.
        var height: Int
    }

    private init(_ bytes: [UInt8], _ limits: YAMLLimits) {
        reader = YAMLEvents(bytes)
        self.limits = limits
    }

    /// The line, from 1, on which the key of a member or an element of a list begins, or that of the innermost enclosing
    /// value that exists.
    package static func line(of pointer: JSONPointer, in bytes: [UInt8]) -> Int {
        var document = YAMLDocument(bytes, YAMLLimits())
        document.wanted = pointer.names.map { JSONPointer(member: $0) }
        _ = try? document.whole()
        return document.foundLine
    }

    /// The path that `line` searches for, and the best place so far.
    private var wanted: [JSONPointer]?
    private var foundDepth = -1
    private var foundLine = 1

    private mutating func look() {
        guard let wanted, path.count > foundDepth, path.count <= wanted.count, wanted.starts(with: path) else { return }
        foundDepth = path.count
        foundLine = reader.line
    }

    private mutating func whole() throws(YAMLFault) -> JSONValue {
        var result = JSONValue.null
        var documents = 0
        while true {
            let event = try next()
            switch event {
            case .streamStart, .documentEnd: continue
            case .documentStart:
                documents += 1
                if documents > 1 { throw fault("there is more than one document: keep one, without a second ---") }
                result = try value(try next(), depth: 0)
            case .streamEnd: return result
            default: throw fault("there is something between documents")
            }
        }
    }

    private mutating func value(_ event: YAMLEvents.Event, depth: Int) throws(YAMLFault) -> JSONValue {
        values += 1
        look()
        if depth > limits.depth { throw tooDeep() }
        let before = (values: values, text: text, height: height)
        height = 0
        defer { height = max(height, before.height) }
        let value: JSONValue
        let anchor: String?
        switch event {
        case .scalar(let scalar):
            text += scalar.text.utf8.count
            (value, anchor) = (try word(scalar), scalar.anchor)
        case .alias(let name):
            (value, anchor) = (try written(name, depth), nil)
        case .sequenceStart(let name): (value, anchor) = (try list(depth), name)
        case .mappingStart(let name): (value, anchor) = (try map(depth), name)
        default: throw fault("a value is missing")
        }
        try checkSize()
        if let anchor {
            anchors[anchor] = Anchored(
                value: value, values: values - before.values, text: text - before.text, height: height)
        }
        return value
    }

    /// The depth of nested lists and maps in the current value, with aliases written out.
    private var height = 0

    private func checkSize() throws(YAMLFault) {
        if values > limits.values { throw fault("there are more than \(limits.values) values, aliases counted") }
        if text > limits.text { throw fault("there are more than \(limits.text) bytes of text, aliases counted") }
    }

    private func tooDeep() -> YAMLFault { fault("nested deeper than \(limits.depth) levels") }

    /// The value of an alias, counted as if written out here.
    private mutating func written(_ alias: String, _ depth: Int) throws(YAMLFault) -> JSONValue {
        guard let anchored = anchors[alias] else { throw fault("*\(alias) stands for nothing that came before it") }
        if depth + anchored.height > limits.depth { throw tooDeep() }
        values += anchored.values
        text += anchored.text
        height = anchored.height
        return anchored.value
    }

    private mutating func list(_ depth: Int) throws(YAMLFault) -> JSONValue {
        var elements: [JSONValue] = []
        while true {
            let event = try next()
            if case .sequenceEnd = event { break }
            path.append(JSONPointer(index: elements.count))
            elements.append(try value(event, depth: depth + 1))
            path.removeLast()
        }
        height += 1
        return .array(elements)
    }

    private mutating func map(_ depth: Int) throws(YAMLFault) -> JSONValue {
        var members: [JSONObject.Member] = []
        var known: Set<[UInt8]> = []
        while true {
            let event = try next()
            if case .mappingEnd = event { break }
            guard case .scalar(let key) = event else { throw fault("a key must be a text, not a list or a map") }
            if key.text == "<<", key.isPlain { throw fault("<< is no part of YAML 1.2: write the members out") }
            if !known.insert(Array(key.text.utf8)).inserted {
                throw fault("the key \(key.text.prefix(80)) occurs twice")
            }
            text += key.text.utf8.count
            path.append(JSONPointer(member: key.text))
            // the value may begin on a later line
            look()
            members.append(.init(key.text, try value(try next(), depth: depth + 1)))
            path.removeLast()
        }
        height += 1
        return .object(JSONObject(members: members))
    }

    private func word(_ scalar: YAMLEvents.Scalar) throws(YAMLFault) -> JSONValue {
        do throws(YAMLWordFault) {
            return try YAMLWord.value(scalar)
        } catch {
            throw fault(error.reason)
        }
    }

    private mutating func next() throws(YAMLFault) -> YAMLEvents.Event {
        do throws(YAMLWordFault) {
            return try reader.next()
        } catch {
            throw fault(error.reason)
        }
    }

    private func fault(_ reason: String) -> YAMLFault {
        YAMLFault(reason: reason, line: reader.line, pointer: path.reduce(.root) { $0.appending($1) })
    }
}
