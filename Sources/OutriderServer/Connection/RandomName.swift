// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Makes unguessable names.
enum RandomName {
    private static let letters = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

    /// A prefix and sixteen base32 characters: 80 random bits.
    static func make(_ prefix: String) -> String {
        var generator = SystemRandomNumberGenerator()
        // each number is a system call
        let halves = [generator.next(), generator.next()]
        let characters = halves.flatMap { half in (0..<8).map { letters[Int((half >> ($0 * 5)) & 31)] } }
        return prefix + String(decoding: characters, as: UTF8.self)
    }
}
