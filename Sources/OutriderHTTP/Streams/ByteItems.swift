// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The bytes themselves, in pieces up to the requested length.
package struct ByteItems: ItemScanner {
    private var window = ByteWindow()

    package init() {}

    package var held: Int { window.count }
    package var isContinuous: Bool { true }

    package mutating func begin(contentType: String?) { window.removeAll() }

    package mutating func feed(_ bytes: [UInt8]) { window.append(bytes) }

    package mutating func end() {}

    package mutating func hasNext() -> Bool { !window.isEmpty }

    package mutating func next(within budget: ItemBudget) -> StreamItem? {
        // base64 makes four bytes of three
        let count = min(budget.bytes, max(1, budget.written / 4 * 3 - 12), window.count)
        guard count > 0 else { return nil }
        // a whole chunk need not be copied
        let piece = count == window.bytes.count ? window.bytes : Array(window.slice(count))
        window.take(count)
        return StreamItem(.data(piece), bytes: count)
    }
}
