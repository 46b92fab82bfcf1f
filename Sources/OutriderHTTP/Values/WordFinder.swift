// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Finds words anywhere in texts, each byte of a text looked at once.
struct WordFinder: Sendable {
    /// For each first byte the place of its words in `words`; 0 for no word.
    private var places: [UInt16] = Array(repeating: 0, count: 256)
    /// The words of a first byte follow each other, each behind its length, the last before a 0.
    private var words: [UInt8] = [0]

    init(_ list: [String]) {
        for (first, group) in Dictionary(grouping: list.filter { !$0.isEmpty }, by: { $0.utf8.first ?? 0 }) {
            places[Int(first)] = UInt16(clamping: words.count)  // safe: a byte
            for word in group { words += [UInt8(clamping: word.utf8.count)] + Array(word.utf8) }
            words.append(0)
        }
    }

    /// Whether the text has at least one of the words, in the same case.
    func findsAny(in text: String) -> Bool {
        var text = text
        return text.withUTF8 { findsAny(in: $0) { $0 } }
    }

    /// The same for small words in a text of ASCII, without regard to the text's case.
    func findsAnyCase(in bytes: UnsafeBufferPointer<UInt8>) -> Bool { findsAny(in: bytes, HTTPFields.lower) }

    private func findsAny(in bytes: UnsafeBufferPointer<UInt8>, _ fold: (UInt8) -> UInt8) -> Bool {
        places.withUnsafeBufferPointer { places in
            words.withUnsafeBufferPointer { words in
                for index in bytes.indices {
                    var place = Int(places[Int(fold(bytes[index]))])  // safe: a byte
                    while words[place] != 0 {
                        let length = Int(words[place])  // safe: as above
                        if Self.stands(words[(place + 1)...].prefix(length), in: bytes, at: index, fold) { return true }
                        place += length + 1
                    }
                }
                return false
            }
        }
    }

    private static func stands(
        _ word: Slice<UnsafeBufferPointer<UInt8>>, in bytes: UnsafeBufferPointer<UInt8>, at start: Int,
        _ fold: (UInt8) -> UInt8
    ) -> Bool {
        guard bytes.count - start >= word.count else { return false }
        var index = start
        for byte in word {
            if fold(bytes[index]) != byte { return false }
            index += 1
        }
        return true
    }
}
