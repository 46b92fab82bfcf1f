// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Text in pieces, never cut within a character.
///
/// In the multibyte charsets of East Asia, pieces end with a line, or with the body.
package struct TextItems: ItemScanner {
    private var window = ByteWindow()
    private var text: StreamText
    private let longest: Int
    private var isOver = false
    /// Bytes of a byte order mark, which is no text.
    private var skipped = 0

    /// - Parameter longest: bytes without a line end, at most, where pieces end with lines.
    package init(charset: String? = nil, longest: Int = StreamItem.defaultLongest) {
        text = StreamText(wanted: charset)
        self.longest = longest
    }

    package var held: Int { window.count }
    package var isContinuous: Bool { true }

    package mutating func begin(contentType: String?) {
        window.removeAll()
        text.begin(contentType: contentType)
        isOver = false
        skipped = 0
    }

    package mutating func feed(_ bytes: [UInt8]) { window.append(bytes) }

    package mutating func end() { isOver = true }

    package mutating func hasNext() -> Bool {
        do throws(HTTPFailure) {
            return try isReady() && (ready() > 0 || window.count > longest)
        } catch {
            return true
        }
    }

    package mutating func next(within budget: ItemBudget) throws(HTTPFailure) -> StreamItem? {
        guard try isReady() else { return nil }
        let whole = ready()
        guard whole > 0 else {
            if window.count <= longest { return nil }
            throw StreamItem.tooLong(longest)
        }
        var item = piece(of: whole, upTo: budget.bytes)
        // a byte may become six in JSON
        if item.writtenBytes > budget.written {
            item = piece(of: whole, upTo: min(budget.bytes, budget.written / 6 - 4))
        }
        window.take(item.bytes)
        item.bytes += skipped
        skipped = 0
        return item
    }

    /// The first piece of `whole` decodable bytes: up to the limit, but at least one character.
    private func piece(of whole: Int, upTo limit: Int) -> StreamItem {
        var count = whole
        if limit < whole {
            if text.cutsAtLines {
                count = window.lines(within: max(0, limit)) ?? whole
            } else {
                var tried = max(1, limit)
                repeat {
                    count = tried >= whole ? whole : text.whole(window.slice(tried), isOver: false)
                    tried += 1
                } while count == 0
            }
        }
        return StreamItem(text.content(window.slice(count)), bytes: count)
    }

    /// The number of bytes that form whole characters.
    private func ready() -> Int {
        if text.cutsAtLines, !isOver { return window.lines(within: window.count) ?? 0 }
        return text.whole(window.slice(window.count), isOver: isOver)
    }

    /// Determines the charset; false if more bytes are needed.
    private mutating func isReady() throws(HTTPFailure) -> Bool {
        if window.isEmpty { return false }
        if text.charset != nil { return true }
        guard let mark = try text.begin(window, isOver: isOver) else { return false }
        window.take(mark)
        skipped = mark
        return !window.isEmpty
    }
}
