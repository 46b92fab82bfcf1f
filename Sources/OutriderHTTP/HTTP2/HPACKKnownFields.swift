// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Fields that the peer wrote out, found by their coded bytes: most servers write the same fields for each response, and
/// decoding them again costs more than finding them.
///
/// A field is remembered when it comes for the second time in a row in its slot, so that values that never come again
/// cost no memory.
struct HPACKKnownFields {
    /// Coded bytes of the longest field that is remembered.
    static let mostBytes = 128
    private static let slots = 32

    private struct Slot {
        var hash: UInt32 = 0
        var known: Known?
    }

    private final class Known {
        let coded: [UInt8]
        let field: HPACKField

        init(_ coded: [UInt8], _ field: HPACKField) {
            self.coded = coded
            self.field = field
        }
    }

    private var slots: [Slot] = []

    /// - Parameter coded: index and strings of a field whose index does not depend on the dynamic table.
    func find(_ coded: UnsafeRawBufferPointer, _ hash: UInt32) -> HPACKField? {
        let index = Self.index(hash)
        guard index < slots.count, slots[index].hash == hash, let known = slots[index].known,
            known.coded.count == coded.count, known.coded.withUnsafeBytes({ FieldHash.same($0, coded) })
        else { return nil }
        return known.field
    }

    mutating func learn(_ coded: UnsafeRawBufferPointer, _ hash: UInt32, _ field: HPACKField) {
        guard coded.count <= Self.mostBytes, !Self.isSecret(coded, field) else { return }
        if slots.isEmpty { slots = [Slot](repeating: Slot(), count: Self.slots) }
        let index = Self.index(hash)
        let isSecond = slots[index].hash == hash
        slots[index] = Slot(hash: hash, known: isSecond ? Known(Array(coded), field) : nil)
    }

    /// Whether the field must not be kept: a cookie, or a field that is never to be indexed (RFC 7541 section 6.2.3).
    private static func isSecret(_ coded: UnsafeRawBufferPointer, _ field: HPACKField) -> Bool {
        coded.first.map { $0 & 0xF0 == 0x10 } ?? false || HTTPFields.same(field.name, "Set-Cookie")
    }

    private static func index(_ hash: UInt32) -> Int { Int(truncatingIfNeeded: hash) & (slots - 1) }
}
