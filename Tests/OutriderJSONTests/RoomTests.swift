// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

/// Whether values together are small.
struct RoomTests {
    /// Seven values: an object, an array with three, an object with one; seven bytes: a, text, b, c.
    private static let value: JSONValue = .object([
        "a": .array([.integer(1), .null, .string("text")]), "b": .object(["c": .bool(true)]),
    ])

    private static func fits(_ count: Int, values: Int, bytes: Int) -> Bool {
        var room = JSONRoom(values: values, bytes: bytes)
        return (0..<count).allSatisfy { _ in room.holds(value) }
    }

    @Test func `values and the bytes of their texts are counted, however deep they are`() {
        #expect(Self.fits(1, values: 7, bytes: 7))
        #expect(!Self.fits(1, values: 6, bytes: 7))
        #expect(!Self.fits(1, values: 7, bytes: 6))
    }

    @Test func `several values share the room`() {
        #expect(Self.fits(2, values: 14, bytes: 14))
        #expect(!Self.fits(2, values: 13, bytes: 14))
        #expect(!Self.fits(2, values: 14, bytes: 13))
    }
}
