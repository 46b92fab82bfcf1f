// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decodes blocks of fields (RFC 7541 section 6). A decoder serves a single connection, and must see every block in
/// order.
struct HPACKDecoder: ~Copyable {
    private var table = HPACKDynamicTable<HPACKField>()
    /// Memory for the decoded Huffman strings of a block.
    private var scratch = WireBytes()

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
        if fields.takes(entry.size) { fields.add(name: entry.name, value: entry.value, kind: entry.kind) }
        return true
    }

    private mutating func literal(
        _ reader: inout Reader, prefix: Int, adds: Bool, into fields: inout HTTP2FieldBlock
    ) -> Bool {
        guard let index = reader.integer(prefix) else { return false }
        if index > 0 {
            guard let known = entry(index), let value = string(&reader) else { return false }
            add(known, value, adds: adds, into: &fields)
            return true
        }
        guard let name = string(&reader), let value = string(&reader) else { return false }
        let size = name.count + value.count + 32
        let needed = fields.takes(size)
        guard needed || adds else { return true }
        let kind = HTTP2FieldKind.of(name: name).with(value: value)
        let field = HPACKField(
            name: String(decoding: name, as: UTF8.self), value: String(decoding: value, as: UTF8.self), kind: kind,
            nameBytes: name.count, size: size)
        if adds { _ = table.add(field) }
        if needed { fields.add(name: field.name, value: field.value, kind: kind) }
        return true
    }

    /// A field with the name of an entry.
    private mutating func add(
        _ known: HPACKField, _ value: UnsafeRawBufferPointer, adds: Bool, into fields: inout HTTP2FieldBlock
    ) {
        let size = known.nameBytes + value.count + 32
        let needed = fields.takes(size)
        guard needed || adds else { return }
        let kind = HTTP2FieldKind.of(known, value: value)
        let field = HPACKField(
            name: known.name, value: String(decoding: value, as: UTF8.self), kind: kind, nameBytes: known.nameBytes,
            size: size)
        if adds { _ = table.add(field) }
        if needed { fields.add(name: field.name, value: field.value, kind: kind) }
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
    /// Of a field whose name is that of an entry, and whose value is not.
    fileprivate static func of(_ entry: HPACKField, value: UnsafeRawBufferPointer) -> HTTP2FieldKind {
        let kind = entry.kind == .badValue ? of(name: entry.name) : entry.kind
        return kind.with(value: value)
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

        mutating func take(_ length: Int) -> UnsafeRawBufferPointer? {
            guard length >= 0, length <= bytes.count - position else { return nil }
            defer { position += length }
            return UnsafeRawBufferPointer(rebasing: bytes[position..<position + length])
        }
    }
}
