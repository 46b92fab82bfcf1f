// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@testable import OutriderMethods

/// The messages of a WebSocket that go to a second connection, as records.
@Suite struct RawMessagesTests {
    private func record(_ text: String) -> [UInt8] {
        var record: [UInt8] = []
        MessageRecord.append(.text, Array(text.utf8), to: &record)
        return record
    }

    @Test func `a new connection to the server keeps the records of the former one`() throws {
        var machine = StreamMachine(.pull, MessageItems(MessageItems.Style()))
        try machine.begin(contentType: nil)
        let isRaw = machine.becomeRaw()
        machine.feed(record("one"))
        try machine.begin(contentType: nil)
        machine.feed(record("two"))
        let bytes = machine.drain()
        #expect(isRaw)
        #expect(bytes == record("one") + record("two"))
    }

    @Test func `a second connection that is gone before its first byte leaves messages`() throws {
        var machine = StreamMachine(.pull, MessageItems(MessageItems.Style()))
        try machine.begin(contentType: nil)
        machine.feed(record("one"))
        let isRaw = machine.becomeRaw()
        machine.feed(record("two"))
        machine.becomeItems()
        let found = machine.read(upTo: 100)
        guard case .piece(let piece, _) = found else { throw Unread() }
        #expect(isRaw)
        #expect(piece.items.count == 2)
        #expect(piece.bytes == 6)
    }

    private struct Unread: Error {}
}
