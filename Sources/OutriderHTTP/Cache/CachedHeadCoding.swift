// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What of an entry stands in a row beside its key and its body, as bytes: the head, the names of Vary, and the tags.
///
/// Numbers are 8 bytes, the highest first; texts and lists begin with their length.
package struct CachedHeadCoding {
    private static let version: Int64 = 1
    /// Of a head with fields in ISO 8859-1: their places among the fields are a list at the end.
    private static let latin1Version: Int64 = 2
    /// A longer head is not stored.
    package static let mostBytes = 64 << 10

    /// Nil for a head that is too long.
    package static func encode(
        _ head: CachedHead, vary: [String], tags: [String], userInfo: String? = nil
    ) -> [UInt8]? {
        var bytes: [UInt8] = []
        func add(_ number: Int64) {
            let bits = UInt64(bitPattern: number)
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt64(truncatingIfNeeded: shift)))
            }
        }
        func add(_ text: String) {
            add(Int64(text.utf8.count))  // safe: Int is not wider
            bytes += Array(text.utf8)
        }
        func add(_ list: [String]) {
            add(Int64(list.count))  // safe: as above
            for text in list { add(text) }
        }
        let latin1 = head.fields.list.indices.filter { head.fields.list[$0].isLatin1 }
        add(latin1.isEmpty ? version : latin1Version)
        add(Int64(head.status))  // safe: as above
        add(head.requestedAt)
        add(head.respondedAt)
        add(head.fallback ?? -1)
        add(head.isOutdated ? 1 : 0)
        add(head.reason)
        add(head.version)
        add(head.fields.list.flatMap { [$0.name, $0.value] })
        add(vary)
        add(tags)
        add(userInfo ?? "")
        if !latin1.isEmpty { add(latin1.map { String($0) }) }
        return bytes.count > mostBytes ? nil : bytes
    }

    /// Nil for bytes that no version of this wrote.
    package static func decode(
        _ bytes: UnsafeRawBufferPointer
    ) -> (head: CachedHead, vary: [String], tags: [String], userInfo: String?)? {
        var reader = Reader(bytes: bytes)
        guard let found = reader.number(), found == version || found == latin1Version,
            let status = reader.number(), (100...999).contains(status),
            let requestedAt = reader.number(), let respondedAt = reader.number(), let fallback = reader.number(),
            let isOutdated = reader.number(), let reason = reader.text(), let httpVersion = reader.text(),
            let fields = reader.list(), fields.count.isMultiple(of: 2), let vary = reader.list(),
            let tags = reader.list(), let userInfo = reader.text(),
            let latin1 = found == version ? [String]() : reader.list(), reader.isAtEnd,
            latin1.isEmpty == (found == version)
        else { return nil }
        var list: [HTTPFields.Field] = []
        list.reserveCapacity(fields.count / 2 &+ 1)
        for index in stride(from: 0, to: fields.count, by: 2) {
            list.append(HTTPFields.Field(fields[index], fields[index + 1]))
        }
        if !latin1.isEmpty {
            let marked = Set(latin1)
            let places = list.indices.filter { marked.contains(String($0)) }
            // in order, and each once
            guard places.map({ String($0) }) == latin1 else { return nil }
            for place in places { list[place].isLatin1 = true }
        }
        var head = CachedHead(
            status: Int(truncatingIfNeeded: status), reason: reason, version: httpVersion, HTTPFields(list),
            requestedAt: requestedAt, respondedAt: respondedAt, fallback: fallback < 0 ? nil : fallback)
        head.isOutdated = isOutdated != 0
        return (head, vary, tags, userInfo.isEmpty ? nil : userInfo)
    }

    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        /// Never beyond the end.
        private var index = 0

        init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

        private var rest: Int { bytes.count &- index }

        var isAtEnd: Bool { rest == 0 }

        mutating func number() -> Int64? {
            guard rest >= 8 else { return nil }
            let bits = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            index &+= 8
            return Int64(bitPattern: UInt64(bigEndian: bits))
        }

        mutating func text() -> String? {
            guard let count = number(), count >= 0, count <= rest else { return nil }
            let end = index &+ Int(truncatingIfNeeded: count)
            defer { index = end }
            return String(decoding: bytes[index..<end], as: UTF8.self)
        }

        mutating func list() -> [String]? {
            guard let count = number(), count >= 0, count <= rest / 8 else { return nil }
            var list: [String] = []
            list.reserveCapacity(Int(truncatingIfNeeded: count))
            for _ in 0..<count {
                guard let text = text() else { return nil }
                list.append(text)
            }
            return list
        }
    }
}

/// CRC-32C (RFC 3720 appendix B.4), by which damage on a disk is found.
package struct CyclicCheck {
    /// Eight tables of 256 values, for eight bytes in one step: the first one is the table of a single byte.
    private static let tables: [UInt32] = {
        var tables: [UInt32] = []
        for index in 0..<256 {
            var value = UInt32(index)
            for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0x82F6_3B78 : value >> 1 }
            tables.append(value)
        }
        for index in 256..<2048 {
            let earlier = tables[index - 256]
            tables.append(earlier >> 8 ^ tables[Int(earlier & 0xFF)])
        }
        return tables
    }()

    private var value: UInt32 = 0xFFFF_FFFF

    package init() {}

    package mutating func add(_ bytes: [UInt8]) {
        // a copy, since a closure must not use what it changes
        var check = self
        bytes.withUnsafeBytes { check.add($0) }
        self = check
    }

    package mutating func add(_ bytes: UnsafeRawBufferPointer) {
        let start = value
        value = Self.tables.withUnsafeBufferPointer { Self.value(start, with: bytes, $0) }
    }

    private static func value(
        _ start: UInt32, with raw: UnsafeRawBufferPointer, _ tables: UnsafeBufferPointer<UInt32>
    ) -> UInt32 {
        var (value, index) = (start, 0)
        while index &+ 8 <= raw.count {
            let low = UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt32.self)) ^ value
            let high = UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: index &+ 4, as: UInt32.self))
            value = tables[1792 &+ Int(low & 0xFF)]
            value ^= tables[1536 &+ Int(low >> 8 & 0xFF)]
            value ^= tables[1280 &+ Int(low >> 16 & 0xFF)]
            value ^= tables[1024 &+ Int(low >> 24)]
            value ^= tables[768 &+ Int(high & 0xFF)]
            value ^= tables[512 &+ Int(high >> 8 & 0xFF)]
            value ^= tables[256 &+ Int(high >> 16 & 0xFF)]
            value ^= tables[Int(high >> 24)]
            index &+= 8
        }
        while index < raw.count {
            value = tables[Int((value ^ UInt32(raw[index])) & 0xFF)] ^ value >> 8
            index &+= 1
        }
        return value
    }

    package var result: Int64 { Int64(value ^ 0xFFFF_FFFF) }
}
