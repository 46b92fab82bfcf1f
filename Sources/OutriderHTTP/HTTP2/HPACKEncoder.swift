// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Encodes blocks of fields (RFC 7541). An encoder serves a single connection; every block must be sent, in order.
struct HPACKEncoder: ~Copyable {
    private struct Entry: HPACKEntry {
        let name: String
        let value: String
        let size: Int
    }

    private var table = HPACKDynamicTable<Entry>()
    /// Entries that were ever added; the youngest has this number.
    private var added: UInt32 = 0
    /// Additions and changes of the table's size: blocks that were coded before the last of them hold no longer.
    private(set) var changes: UInt32 = 0
    /// By hash, the numbers of the youngest entries with such a field and such a name. A collision only makes an entry
    /// unusable.
    private var fields = [UInt32](repeating: 0, count: 128)
    private var names = [UInt32](repeating: 0, count: 64)
    /// Table sizes to announce at the beginning of the next block: the smallest since the last block, and the current
    /// size.
    private var smallest: Int?
    private(set) var announces = false

    init() {}

    /// SETTINGS_HEADER_TABLE_SIZE of the peer.
    mutating func resize(_ size: Int) {
        let size = min(size, HPACKLimits.table)
        guard size != table.limit || announces else { return }
        smallest = min(smallest ?? table.limit, size)
        table.resize(size)
        changes &+= 1
        announces = true
    }

    mutating func begin(_ output: inout WireBytes) {
        guard announces else { return }
        if let smallest, smallest < table.limit { Self.integer(smallest, prefix: 5, 0x20, &output) }
        Self.integer(table.limit, prefix: 5, 0x20, &output)
        smallest = nil
        announces = false
    }

    /// Writes a static table entry by index.
    func indexed(_ index: Int, _ output: inout WireBytes) { Self.integer(index, prefix: 7, 0x80, &output) }

    /// A field; its name is written in lower case.
    mutating func field(_ name: String, _ value: String, _ output: inout WireBytes) {
        let hash = FieldHash.name(name)
        field(name, value, known: HPACKStaticTable.index(of: name, hash: hash), hash: hash, &output)
    }

    /// A field whose name has this index in the static table.
    mutating func field(known index: Int, _ value: String, _ output: inout WireBytes) {
        let name = HPACKStaticTable.entries[index - 1].name
        field(name, value, known: index, hash: FieldHash.name(name), &output)
    }

    /// A field whose value is not UTF-8: a server's own text, which no table keeps.
    func field(_ name: String, bytes: [UInt8], _ output: inout WireBytes) {
        let index = HPACKStaticTable.index(of: name, hash: FieldHash.name(name))
        Self.integer(index, prefix: 4, 0x10, &output)
        if index == 0 { Self.string(name, lower: true, &output) }
        Self.integer(bytes.count, prefix: 7, 0, &output)
        bytes.withUnsafeBytes { output.append($0) }
    }

    private mutating func field(
        _ name: String, _ value: String, known: Int, hash: UInt32, _ output: inout WireBytes
    ) {
        if Self.isSecret(known, value) { return literal(name, value, known, prefix: 4, 0x10, &output) }
        let size = name.utf8.count + value.utf8.count + 32
        guard HPACKStaticTable.unindexed >> UInt64(truncatingIfNeeded: known) & 1 == 0, size <= table.limit / 2 else {
            return literal(name, value, known, prefix: 4, 0, &output)
        }
        let slot = Int(truncatingIfNeeded: FieldHash.value(value, seed: hash) & 127)
        if let position = position(of: fields[slot]), let entry = table[position], FieldHash.same(entry.value, value),
            HTTPFields.same(entry.name, name)
        {
            return Self.integer(HPACKStaticTable.count + 1 + position, prefix: 7, 0x80, &output)
        }
        let nameSlot = Int(truncatingIfNeeded: hash & 63)
        var index = known
        var shared: String?
        if index == 0, let position = position(of: names[nameSlot]), let entry = table[position],
            HTTPFields.same(entry.name, name)
        {
            index = HPACKStaticTable.count + 1 + position
            shared = entry.name
        }
        literal(name, value, index, prefix: 6, 0x40, &output)
        // the table keeps names as given; comparison ignores case
        guard table.add(Entry(name: shared ?? name, value: value, size: size)) else { return }
        added &+= 1
        changes &+= 1
        fields[slot] = added
        names[nameSlot] = added
    }

    /// Whether the value must never be indexed, even by an intermediary (RFC 7541 section 7.1.3): credentials, and
    /// cookies short enough to be guessed.
    private static func isSecret(_ known: Int, _ value: String) -> Bool {
        switch known {
        case HPACKStaticTable.authorization, HPACKStaticTable.proxyAuthorization: true
        case HPACKStaticTable.cookie: value.utf8.count < 20
        default: false
        }
    }

    /// Where the entry with this number is in the table now.
    private func position(of number: UInt32) -> Int? {
        guard number > 0 else { return nil }
        let age = added &- number
        return age < 4096 ? Int(age) : nil  // safe: below 4096
    }

    private func literal(
        _ name: String, _ value: String, _ index: Int, prefix: Int, _ pattern: UInt8, _ output: inout WireBytes
    ) {
        Self.integer(index, prefix: prefix, pattern, &output)
        if index == 0 { Self.string(name, lower: true, &output) }
        Self.string(value, lower: false, &output)
    }

    private static func string(_ text: String, lower: Bool, _ output: inout WireBytes) {
        var text = lower && !text.allBytes { !(0x41...0x5A).contains($0) } ? HTTPFields.key(text) : text
        text.withUTF8 { bytes in
            let coded = HuffmanCode.size(bytes)
            guard coded < bytes.count else {
                integer(bytes.count, prefix: 7, 0, &output)
                return output.append(UnsafeRawBufferPointer(bytes))
            }
            integer(coded, prefix: 7, 0x80, &output)
            let memory = output.room(coded)
            HuffmanCode.encode(bytes, into: UnsafeMutableBufferPointer(rebasing: memory[..<coded]))
            output.advance(coded)
        }
    }

    private static func integer(_ value: Int, prefix: Int, _ pattern: UInt8, _ output: inout WireBytes) {
        let mask = (1 << prefix) - 1
        guard value >= mask else { return output.append(pattern | UInt8(truncatingIfNeeded: value)) }
        output.append(pattern | UInt8(truncatingIfNeeded: mask))
        var rest = value - mask
        while rest >= 128 {
            output.append(UInt8(truncatingIfNeeded: rest & 0x7F | 0x80))
            rest >>= 7
        }
        output.append(UInt8(truncatingIfNeeded: rest))
    }
}
