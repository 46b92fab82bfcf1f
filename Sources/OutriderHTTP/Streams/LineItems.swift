// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Lines, without their ends: LF, CR, or CR LF. The last line needs no end.
///
/// A line that ends with CR is returned at once; a later LF belongs to that end.
package struct LineItems: ItemScanner {
    /// The content of a line.
    package enum Form: Sendable {
        /// Text in that charset, or in the charset of the response.
        case text(charset: String?)
        /// A JSON value in UTF-8; empty lines are skipped.
        case json
    }

    private var window = ByteWindow()
    private var text: StreamText
    private let isJSON: Bool
    private let longest: Int
    private var isOver = false
    /// Bytes that belong to no line.
    private var skipped = 0
    /// Bytes of the window in which there is no end of a line.
    private var scanned = 0
    /// The next line, and its end.
    private var found: (line: Int, end: Int)?
    /// The last line ended with CR.
    private var awaitsLineFeed = false
    /// Bytes of the LF that was skipped behind that CR.
    private var lateLineFeed = 0

    /// - Parameter longest: most bytes in a line; a longer line ends the stream with `limitExceeded`.
    package init(_ form: Form = .text(charset: nil), longest: Int = StreamItem.defaultLongest) {
        switch form {
        case .text(let charset):
            text = StreamText(wanted: charset)
            isJSON = false
        case .json:
            text = StreamText(wanted: "utf-8")
            isJSON = true
        }
        self.longest = longest
    }

    package var held: Int { window.count }
    package var isContinuous: Bool { false }

    package mutating func begin(contentType: String?) {
        window.removeAll()
        text.begin(contentType: contentType)
        isOver = false
        skipped = 0
        scanned = 0
        found = nil
        awaitsLineFeed = false
        lateLineFeed = 0
    }

    package mutating func feed(_ bytes: [UInt8]) { window.append(bytes) }

    package mutating func end() { isOver = true }

    package mutating func hasNext() -> Bool {
        do throws(HTTPFailure) {
            return try find()
        } catch {
            return true
        }
    }

    package mutating func next(within budget: ItemBudget) throws(HTTPFailure) -> StreamItem? {
        guard try find(), let (line, end) = found else { return nil }
        awaitsLineFeed = end > line && isCarriageReturn(end)
        let size = skipped + end
        skipped = 0
        lateLineFeed = 0
        if line > StreamItem.mostAtOnce { return StreamItem(long(line, end), bytes: size) }
        let bytes = window.slice(line)
        let content = isJSON ? JSONItems.content(Array(bytes)) : text.content(bytes)
        forget(end)
        return StreamItem(content, bytes: size)
    }

    package var lateEnd: Int {
        if awaitsLineFeed { return skipped == 0 && window.count == text.width && isLineFeedNext ? text.width : 0 }
        return window.isEmpty && skipped == lateLineFeed ? lateLineFeed : 0
    }

    private var isLineFeedNext: Bool {
        window.count >= text.width && text.unit(window.slice(text.width), at: window.start) == 0x0A
    }

    private mutating func long(_ line: Int, _ end: Int) -> StreamItem.Content {
        let bytes = window.cut(line)
        forget(end - line)
        return isJSON ? .unmade { JSONItems.content(bytes) } : .unmade { [text] in text.content(bytes[...]) }
    }

    private func isCarriageReturn(_ end: Int) -> Bool {
        let bytes = window.slice(end)
        return text.unit(bytes, at: bytes.endIndex - text.width) == 0x0D
    }

    /// Looks for the next line.
    private mutating func find() throws(HTTPFailure) -> Bool {
        while found == nil {
            guard try isReady() else { return false }
            if awaitsLineFeed {
                guard window.count >= text.width || isOver else { return false }
                awaitsLineFeed = false
                if isLineFeedNext {
                    lateLineFeed = text.width
                    skip(text.width)
                    continue
                }
            }
            guard let line = try scan() else { return false }
            if line.line > longest { throw StreamItem.tooLong(longest) }
            if isJSON, window.slice(line.line).allSatisfy({ $0 == 0x20 || $0 == 0x09 }) {
                awaitsLineFeed = line.end > line.line && isCarriageReturn(line.end)
                skip(line.end)
            } else {
                found = line
            }
        }
        return true
    }

    /// The first line of the window; nil if its end is not there.
    private mutating func scan() throws(HTTPFailure) -> (line: Int, end: Int)? {
        let bytes = window.slice(window.count)
        let width = text.width
        var index = bytes.startIndex + scanned
        while index + width <= bytes.endIndex {
            let unit = text.unit(bytes, at: index)
            guard unit == 0x0A || unit == 0x0D else {
                index += width
                continue
            }
            let line = index - bytes.startIndex
            var end = line + width
            if unit == 0x0D, index + 2 * width <= bytes.endIndex, text.unit(bytes, at: index + width) == 0x0A {
                end += width
            }
            return (line, end)
        }
        scanned = index - bytes.startIndex
        if scanned > longest { throw StreamItem.tooLong(longest) }
        return isOver && !window.isEmpty ? (window.count, window.count) : nil
    }

    private mutating func skip(_ count: Int) {
        skipped += count
        forget(count)
    }

    private mutating func forget(_ count: Int) {
        window.take(count)
        scanned = 0
        found = nil
    }

    /// Determines the charset; false if more bytes are needed.
    private mutating func isReady() throws(HTTPFailure) -> Bool {
        if window.isEmpty { return false }
        if text.charset != nil { return true }
        guard let mark = try text.begin(window, isOver: isOver) else { return false }
        skip(mark)
        return !window.isEmpty
    }
}
