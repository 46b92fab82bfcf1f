// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The static table of HPACK (RFC 7541 appendix A).
enum HPACKStaticTable {
    static let count = 61

    /// Entry `index - 1` has the index of the RFC.
    static let entries: [HPACKField] = list.map { name, value in
        HPACKField(
            name, FieldText(value), kind: .of(name: name), nameBytes: name.utf8.count, valueBytes: value.utf8.count)
    }

    private static let list: [(String, String)] = [
        (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
        (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
        (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
        ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
        ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
        ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
        ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""),
        ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""),
        ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""),
        ("last-modified", ""), ("link", ""), ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""),
        ("proxy-authorization", ""), ("range", ""), ("referer", ""), ("refresh", ""), ("retry-after", ""),
        ("server", ""), ("set-cookie", ""), ("strict-transport-security", ""), ("transfer-encoding", ""),
        ("user-agent", ""), ("vary", ""), ("via", ""), ("www-authenticate", ""),
    ]

    // indexes that the writer of requests names
    static let authority = 1
    static let method = 2
    static let path = 4
    static let scheme = 6
    static let authorization = 23
    static let cookie = 32
    static let proxyAuthorization = 49

    /// Names whose values differ from request to request: their entries would only displace others.
    static let unindexed: UInt64 = [path, 21, 28, 34, 40, 41, 42, 46, 50, 55].reduce(0) {
        $0 | 1 << UInt64(truncatingIfNeeded: $1)
    }

    /// Slots for the hash of a name; a slot holds an index, 0 for none. Collisions take the next slot.
    private static let slots: [UInt8] = {
        var slots = [UInt8](repeating: 0, count: 256)
        for (offset, entry) in list.enumerated() where offset + 1 == first(entry.0) {
            var slot = Int(truncatingIfNeeded: FieldHash.name(entry.0) & 255)
            while slots[slot] != 0 { slot = (slot + 1) & 255 }
            slots[slot] = UInt8(truncatingIfNeeded: offset + 1)
        }
        return slots
    }()

    private static func first(_ name: String) -> Int { (list.firstIndex { $0.0 == name } ?? 0) + 1 }

    /// The first index of a name, whatever its case; 0 if there is none.
    static func index(of name: String, hash: UInt32) -> Int {
        var slot = Int(truncatingIfNeeded: hash & 255)
        while slots[slot] != 0 {
            let index = Int(slots[slot])
            if HTTPFields.same(entries[index - 1].name, name) { return index }
            slot = (slot + 1) & 255
        }
        return 0
    }
}

/// Hashes of names, whatever their case, and of values. They only choose slots: bytes are compared afterwards.
enum FieldHash {
    static func name(_ text: String) -> UInt32 { hash(text, fold: 0x2020_2020_2020_2020, seed: 0) }

    static func value(_ text: String, seed: UInt32) -> UInt32 {
        hash(text, fold: 0, seed: UInt64(truncatingIfNeeded: seed))
    }

    private static func hash(_ text: String, fold: UInt64, seed: UInt64) -> UInt32 {
        var text = text
        return text.withUTF8 { hash(UnsafeRawBufferPointer($0), fold: fold, seed: seed) }
    }

    static func hash(_ raw: UnsafeRawBufferPointer, fold: UInt64 = 0, seed: UInt64 = 0) -> UInt32 {
        var state = seed &+ UInt64(truncatingIfNeeded: raw.count) &* 0x9E37_79B9_7F4A_7C15
        var index = 0
        while index + 8 <= raw.count {
            state = mix(state ^ (raw.loadUnaligned(fromByteOffset: index, as: UInt64.self) | fold))
            index += 8
        }
        var last: UInt64 = 0
        while index < raw.count {
            last = last << 8 | UInt64(raw[index])
            index += 1
        }
        return UInt32(truncatingIfNeeded: mix(state ^ (last | fold)))
    }

    /// Compares bytes: canonically equivalent strings differ.
    static func same(_ one: String, _ other: String) -> Bool {
        guard one.utf8.count == other.utf8.count else { return false }
        var one = one
        var other = other
        return one.withUTF8 { one in
            other.withUTF8 { same(UnsafeRawBufferPointer(one), UnsafeRawBufferPointer($0)) }
        }
    }

    /// Both have the same length.
    static func same(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        let count = min(one.count, other.count)
        var index = 0
        while index + 8 <= count {
            let left = one.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            guard left == other.loadUnaligned(fromByteOffset: index, as: UInt64.self) else { return false }
            index += 8
        }
        while index < count {
            guard one[index] == other[index] else { return false }
            index += 1
        }
        return true
    }

    private static func mix(_ state: UInt64) -> UInt64 {
        let product = state &* 0xBF58_476D_1CE4_E5B9
        return product ^ product >> 29
    }
}

/// A field in HPACK, with the kind of its name. A class, so that tables and memories share the field.
final class HPACKField: HPACKEntry, Sendable {
    let name: String
    let value: String
    let isLatin1: Bool
    let kind: HTTP2FieldKind
    /// The length of the name as received, which may have been invalid UTF-8.
    let nameBytes: Int
    /// The size by RFC 7541 section 4.1: the bytes of name and value, and 32.
    let size: Int

    init(_ name: String, _ value: FieldText, kind: HTTP2FieldKind, nameBytes: Int, valueBytes: Int) {
        self.name = name
        (self.value, isLatin1) = (value.text, value.isLatin1)
        self.kind = kind
        self.nameBytes = nameBytes
        size = nameBytes + valueBytes + 32
    }
}

protocol HPACKEntry {
    /// Bytes of name and value, and 32.
    var size: Int { get }
}

/// The table entries of one direction of a connection, the youngest first, within a size limit (RFC 7541 section
/// 2.3.2).
struct HPACKDynamicTable<Entry: HPACKEntry> {
    /// 4,096 bytes, and no entry has fewer than 32.
    private static var mostEntries: Int { HPACKLimits.table / 32 }

    private var ring: [Entry?] = []
    /// Slot of the youngest entry.
    private var youngest = 0
    private(set) var count = 0
    private(set) var size = 0
    private(set) var limit = HPACKLimits.table

    /// 0 is the youngest; nil if there is none.
    subscript(_ index: Int) -> Entry? {
        guard index >= 0, index < count else { return nil }
        return ring[(youngest + ring.count - index) % ring.count]
    }

    mutating func resize(_ limit: Int) {
        self.limit = max(0, min(limit, HPACKLimits.table))
        shrink(to: self.limit)
    }

    /// Adds an entry. An entry larger than the table only empties the table; false then.
    mutating func add(_ entry: Entry) -> Bool {
        let more = entry.size
        shrink(to: limit - more)
        guard more <= limit else { return false }
        if count == ring.count { grow() }
        youngest = (youngest + 1) % ring.count
        ring[youngest] = entry
        count += 1
        size += more
        return true
    }

    private mutating func shrink(to most: Int) {
        while count > 0, size > most {
            let oldest = (youngest + ring.count - (count - 1)) % ring.count
            if let entry = ring[oldest] { size -= entry.size }
            ring[oldest] = nil
            count -= 1
        }
    }

    private mutating func grow() {
        var larger: [Entry?] = (0..<count).reversed().map { self[$0] }
        youngest = max(0, count - 1)
        let capacity = min(Self.mostEntries + 1, max(16, count * 2))
        larger += [Entry?](repeating: nil, count: max(1, capacity - larger.count))
        if count == 0 { youngest = larger.count - 1 }
        ring = larger
    }
}

enum HPACKLimits {
    /// Bytes of a dynamic table, in each direction.
    static let table = 4096
}
