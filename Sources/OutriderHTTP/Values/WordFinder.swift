// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Looks for some ASCII words anywhere in a text.
struct WordFinder: Sendable {
    /// The words without their first byte, by that byte.
    private var rests: [[[UInt8]]] = Array(repeating: [], count: 256)

    init(_ words: [String]) {
        for word in words {
            guard let first = word.utf8.first else { continue }
            rests[Int(first)].append(Array(word.utf8.dropFirst()))  // safe: a byte
        }
    }

    /// Whether the text has at least one of the words, in the same case.
    func findsAny(in text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            for index in bytes.indices {
                for rest in rests[Int(bytes[index])] where Self.stands(rest, in: bytes, at: index + 1) { return true }
            }
            return false
        }
    }

    private static func stands(_ word: [UInt8], in bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> Bool {
        guard bytes.count - start >= word.count else { return false }
        for index in word.indices where bytes[start + index] != word[index] { return false }
        return true
    }
}
