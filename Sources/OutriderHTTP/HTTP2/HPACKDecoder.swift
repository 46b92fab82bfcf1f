// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decodes blocks of fields (RFC 7541 section 6). A decoder serves a single connection, and must see every block in
/// order.
struct HPACKDecoder: ~Copyable {
    private var table = HPACKDynamicTable<HPACKField>()
    /// Memory for the decoded Huffman strings of a block.
    private var scratch = WireBytes()
    private var known = HPACKKnownFields()

    init() {}

    /// Why a block cannot be decoded. No block can be decoded after a fault.
    enum Fault: Equatable {
        case malformed
        /// The fields are larger than `HTTP2FieldBlock.mostDecoded`.
        case tooMuch
    }

    mutating func decode(_ block: UnsafeRawBufferPointer, into fields: inout HTTP2FieldBlock) -> Fault? {
        defer { scratch.clear() }
        var reader = Reader(bytes: block)
        var mayResize = true
        while reader.position < block.count {
            let byte = block[reader.position]
            if byte & 0x80 != 0 {
                guard let index = reader.integer(7), indexed(index, into: &fields) else { return .malformed }
            } else if byte & 0xC0 == 0x40 {
                guard literal(&reader, prefix: 6, adds: true, into: &fields) else { return .malformed }
            } else if byte & 0xE0 == 0x20 {
                guard mayResize, let size = reader.integer(5), size <= HPACKLimits.table else { return .malformed }
                table.resize(size)
                continue
            } else {
                guard literal(&reader, prefix: 4, adds: false, into: &fields) else { return .malformed }
            }
            mayResize = false
            if fields.isOverDecoded { return .tooMuch }
        }
        return nil
    }

    private func entry(_ index: Int) -> HPACKField? {
        guard index > 0 else { return nil }
        if index <= HPACKStaticTable.count { return HPACKStaticTable.entries[index - 1] }
        return table[index - HPACKStaticTable.count - 1]
    }

    private func indexed(_ index: Int, into fields: inout HTTP2FieldBlock) -> Bool {
        guard let entry = entry(index) else { return false }
        if fields.takes(entry.size) { fields.add(entry) }
        return true
    }

    private enum Literal {
        case malformed
        /// Neither the table nor the block wants the field.
        case dropped
        case field(HPACKField)
    }

    private mutating func literal(
        _ reader: inout Reader, prefix: Int, adds: Bool, into fields: inout HTTP2FieldBlock
    ) -> Bool {
        let start = reader.position
        guard let index = reader.integer(prefix) else { return false }
        // the meaning of other indexes changes with the table
        let mayBeKnown = index <= HPACKStaticTable.count
        let strings = reader.position
        guard !mayBeKnown || reader.skipStrings(index > 0 ? 1 : 2) else { return false }
        let coded = UnsafeRawBufferPointer(rebasing: reader.bytes[start..<reader.position])
        let hash = mayBeKnown ? FieldHash.hash(coded) : 0
        if mayBeKnown, let field = known.find(coded, hash) {
            if fields.takes(field.size) { fields.add(field) }
            if adds { _ = table.add(field) }
            return true
        }
        reader.position = strings
        switch decode(index, &reader, adds: adds, into: &fields) {
        case .malformed: return false
        case .dropped: break
        case .field(let field): if mayBeKnown { known.learn(coded, hash, field) }
        }
        return true
    }

    /// Reads the strings behind an index.
    private mutating func decode(
        _ index: Int, _ reader: inout Reader, adds: Bool, into fields: inout HTTP2FieldBlock
    ) -> Literal {
        let entry = entry(index)
        guard entry != nil || index == 0 else { return .malformed }
        guard let name = entry == nil ? string(&reader) : UnsafeRawBufferPointer(start: nil, count: 0),
            let value = string(&reader)
        else { return .malformed }
        let nameBytes = entry?.nameBytes ?? name.count
        let needed = fields.takes(nameBytes + value.count + 32)
        guard needed || adds else { return .dropped }
        let kind = entry.map { HTTP2FieldKind.of($0) } ?? .of(name: name)
        let nameText = entry?.name ?? String(decoding: name, as: UTF8.self)
        let field = HPACKField(
            nameText, FieldRules.text(value, of: nameText), kind: kind.with(value: value), nameBytes: nameBytes,
            valueBytes: value.count)
        if needed { fields.add(field) }
        if adds { _ = table.add(field) }
        return .field(field)
    }

    private mutating func string(_ reader: inout Reader) -> UnsafeRawBufferPointer? {
        guard reader.position < reader.bytes.count else { return nil }
        let isCoded = reader.bytes[reader.position] & 0x80 != 0
        guard let length = reader.integer(7), let coded = reader.take(length) else { return nil }
        guard isCoded else { return coded }
        // the memory fits all strings of the block, so that already decoded strings stay in place
        if scratch.count == 0 { _ = scratch.room(HuffmanCode.mostDecoded(reader.bytes.count) * 2) }
        let memory = scratch.room(HuffmanCode.mostDecoded(length))
        guard let count = HuffmanCode.decode(coded, into: memory) else { return nil }
        scratch.advance(count)
        return UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count])
    }
}

extension HTTP2FieldKind {
    /// Of a field that has the name of an entry, whatever the value of the entry.
    fileprivate static func of(_ entry: HPACKField) -> HTTP2FieldKind {
        entry.kind == .badValue ? of(name: entry.name) : entry.kind
    }
}

extension HPACKDecoder {
    /// Reads the primitive types of RFC 7541 section 5.
    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        var position = 0

        init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

        /// At most 2^28; nil for larger ones, and if the bytes end.
        mutating func integer(_ prefix: Int) -> Int? {
            guard position < bytes.count else { return nil }
            let mask = (1 << prefix) - 1
            var value = Int(bytes[position]) & mask
            position += 1
            guard value == mask else { return value }
            var shift = 0
            while position < bytes.count, shift <= 21 {
                let byte = bytes[position]
                position += 1
                value += Int(byte & 0x7F) << shift
                if byte & 0x80 == 0 { return value }
                shift += 7
            }
            return nil
        }

        /// Moves behind so many strings; false if the bytes end.
        mutating func skipStrings(_ count: Int) -> Bool {
            for _ in 0..<count {
                guard let length = integer(7), length <= bytes.count - position else { return false }
                position += length
            }
            return true
        }

        mutating func take(_ length: Int) -> UnsafeRawBufferPointer? {
            guard length >= 0, length <= bytes.count - position else { return nil }
            defer { position += length }
            return UnsafeRawBufferPointer(rebasing: bytes[position..<position + length])
        }
    }
}
