// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// The members of a client's messages that hold secrets, marked `locked` in the schema.
///
/// Such a member is decoded from the bytes of its message straight into a `Secret`. Everything else of the message is
/// parsed as usual.
package struct SecretMembers: Sendable {
    /// Names on the way from the params of a method, or the result of a callback, to its secrets.
    private struct Node: Sendable {
        var members: [String: Node] = [:]
        /// Whether every string here, and below, is a secret.
        var isSecret = false

        mutating func add(_ path: some Collection<Substring>) {
            guard let first = path.first else { return isSecret = true }
            members[String(first), default: Node()].add(path.dropFirst())
        }
    }

    private var methods: [String: Node] = [:]
    private var results = Node()
    /// Limit of nested arrays in the search: clients may send params in an array, and schemas have lists.
    private static let deepestArray = 4

    /// None.
    package init() {}

    /// - Parameters:
    ///   - methods: by name, the members of the params: paths such as `/token/refreshToken`.
    ///   - results: members of the results of callbacks of every kind. A reply names only its call, and may come when
    ///     that call is over.
    package init(methods: [String: [String]], results: [String]) {
        for (method, paths) in methods {
            for path in paths { self.methods[method, default: Node()].add(path.split(separator: "/")) }
        }
        for path in results { self.results.add(path.split(separator: "/")) }
    }

    /// Whether the frame may hold secrets: true unless the text shows that none of its messages has a marked member.
    package func mayBe(
        in frame: UnsafeBufferPointer<UInt8>, _ plain: PlainFrame?
    ) -> Bool {
        if let plain { return plain.names { methods[$0] != nil } }
        var search = Search(frame, self)
        search.run()
        return search.mayHoldSecrets
    }

    /// The same for a frame whose end may be missing.
    package func mayBe(inStart frame: UnsafeBufferPointer<UInt8>, limits: MessageLimits) -> Bool {
        guard let method = PlainCall.method(atStartOf: frame, limits: limits) else { return true }
        return methods[method] != nil
    }

    /// The ranges of secrets in a valid frame, between their quotes and in order.
    package func ranges(in frame: UnsafeBufferPointer<UInt8>) -> [Range<Int>] {
        var search = Search(frame, self)
        search.run()
        var ranges: [Range<Int>] = []
        // a message with two methods, which is refused later, reports some ranges twice
        for range in search.found.sorted(by: { $0.lowerBound < $1.lowerBound }) where range != ranges.last {
            ranges.append(range)
        }
        return ranges
    }

    /// Searches the messages of a frame for secrets.
    private struct Search {
        private let frame: UnsafeBufferPointer<UInt8>
        private let members: SecretMembers
        private var hasMethod = false
        private var isLost = false
        private(set) var found: [Range<Int>] = []

        var mayHoldSecrets: Bool { hasMethod || !found.isEmpty || isLost }

        init(_ frame: UnsafeBufferPointer<UInt8>, _ members: SecretMembers) {
            self.frame = frame
            self.members = members
        }

        mutating func run() {
            var cursor = JSONCursor(frame)
            if cursor.peek() == UInt8(ascii: "[") {
                cursor.eachElement { message(&$0) }
            } else {
                message(&cursor)
            }
            isLost = cursor.isLost || !cursor.isAtEnd()
        }

        /// Walks the object twice, because the method may come after the params.
        private mutating func message(_ cursor: inout JSONCursor) {
            guard cursor.peek() == UInt8(ascii: "{") else { return cursor.skip() }
            let start = cursor
            var nodes: [Node] = []
            cursor.eachMember { cursor, name in
                switch cursor.text(name) {
                case "method" where cursor.peek() == UInt8(ascii: "\""):
                    guard let range = cursor.string(), let node = members.methods[cursor.text(range)] else { return }
                    nodes.append(node)
                case "result": value(members.results, &cursor)
                default: cursor.skip()
                }
            }
            if nodes.isEmpty { return }
            hasMethod = true
            var again = start
            again.eachMember { cursor, name in
                guard cursor.text(name) == "params" else { return cursor.skip() }
                let before = cursor
                for node in nodes {
                    cursor = before
                    value(node, &cursor)
                }
            }
        }

        private mutating func value(_ node: Node, _ cursor: inout JSONCursor, arrays: Int = 0) {
            if node.isSecret { return cursor.skip { found.append($0) } }
            switch cursor.peek() {
            case UInt8(ascii: "{"):
                cursor.eachMember { cursor, name in
                    guard let below = node.members[cursor.text(name)] else { return cursor.skip() }
                    value(below, &cursor, arrays: arrays)
                }
            case UInt8(ascii: "[") where arrays < SecretMembers.deepestArray:
                cursor.eachElement { value(node, &$0, arrays: arrays + 1) }
            default: cursor.skip()
            }
        }
    }
}

extension Incoming {
    /// Parses a frame that may hold secrets. The frame must be in memory that is zeroed afterwards.
    package init(
        parsing frame: UnsafeBufferPointer<UInt8>, with secrets: SecretMembers, limits: MessageLimits = MessageLimits()
    ) throws(JSONFailure) {
        self.init(
            try JSONParser.parse(frame, limits: limits.json) { secrets.ranges(in: $0) }, limits: limits)
    }
}
