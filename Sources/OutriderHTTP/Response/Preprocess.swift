// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A transformation of the body's bytes before parsing. An empty body is not transformed.
package enum Preprocess: Sendable {
    /// Drops so many bytes from the start.
    case dropFirst(Int)
    /// Drops these bytes from the start, if present.
    case dropPrefix([UInt8])
    /// The client's callback transforms the bytes.
    case callback(CallbackSpec)

    /// The prefix with which some servers prevent other sites from reading their JSON.
    package static let googleXSSI = Preprocess.dropPrefix(Array(")]}',\n".utf8))

    package var callback: CallbackSpec? {
        if case .callback(let callback) = self { callback } else { nil }
    }

    func apply(_ bytes: [UInt8]) -> [UInt8] {
        switch self {
        case .dropFirst(let count): Array(bytes.dropFirst(max(0, count)))
        case .dropPrefix(let prefix): bytes.starts(with: prefix) ? Array(bytes.dropFirst(prefix.count)) : bytes
        case .callback: bytes
        }
    }
}
