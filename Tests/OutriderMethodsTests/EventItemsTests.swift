// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

@testable import OutriderMethods

/// Events of a stream, as items.
struct EventItemsTests {
    private static func items(isCompact: Bool = false) -> EventItems {
        EventItems(
            EventItems.Style(isCompact: isCompact), limit: EventStreamScanner.defaultLimit,
            EventStreamMemory(lastEventID: ""))
    }

    private static func text(_ content: StreamItem.Content?) -> String? {
        switch content {
        case .members(let text), .value(let text): String(decoding: text.bytes, as: UTF8.self)
        default: nil
        }
    }

    @Test func `comments take no memory, however many there are`() throws {
        var items = Self.items()
        for _ in 0..<64 {
            items.feed(Array((": " + String(repeating: "k", count: 1020) + "\n").utf8))
            let hasNext = items.hasNext()
            #expect(!hasNext && items.kept == 0)
        }
        items.feed(Array("data: abc".utf8))
        let hasNext = items.hasNext()
        #expect(!hasNext && items.kept == 9)
        items.feed(Array("\ndata: d\n\n".utf8))
        #expect(items.held == 64 * 1023 + 19 && items.kept < 64)
        let item = try #require(try items.next(within: ItemBudget(bytes: .max)))
        #expect(item.bytes == 64 * 1023 + 19 && items.kept == 0)
        #expect(Self.text(item.content) == #""event":"message","data":"abc\nd""#)
    }

    @Test func `events do not repeat a long id until they are wanted`() throws {
        let id = String(repeating: "i", count: 2048)
        for isCompact in [false, true] {
            var items = Self.items(isCompact: isCompact)
            items.feed(Array("id: \(id)\n\ndata: a\n\ndata: b\n\n".utf8))
            var texts: [String?] = []
            while let item = try items.next(within: ItemBudget(bytes: .max)) {
                guard case .unmade(let work) = item.content else {
                    texts.append(Self.text(item.content))
                    continue
                }
                #expect(!isCompact)
                texts.append(Self.text(work()))
            }
            let whole = ["a", "b"].map { #""event":"message","data":"\#($0)","id":"\#(id)""# }
            #expect(texts == (isCompact ? [#"{"data":"a","id":"\#(id)"}"#, #""b""#] : whole))
        }
    }
}
