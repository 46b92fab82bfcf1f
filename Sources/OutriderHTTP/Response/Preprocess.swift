// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A transformation of the body's bytes before parsing. An empty body is not transformed.
package enum Preprocess: Sendable {
    /// Drops so many bytes from the start.
    case dropFirst(Int)
    /// Drops these bytes from the start, if present.
    case dropPrefix([UInt8])
    /// Drops these bytes and the line end behind them, CR LF or LF, from the start, if present.
    case dropLine([UInt8])
    /// The client's callback transforms the bytes.
    case callback(CallbackSpec)

    /// The prefix with which some servers prevent other sites from reading their JSON.
    package static let googleXSSI = Preprocess.dropLine(Array(")]}',".utf8))

    package var callback: CallbackSpec? {
        if case .callback(let callback) = self { callback } else { nil }
    }

    private func withoutLine(_ line: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
        guard bytes.starts(with: line) else { return bytes }
        let rest = bytes.dropFirst(line.count)
        if rest.first == 0x0A { return Array(rest.dropFirst()) }
        return rest.starts(with: [0x0D, 0x0A]) ? Array(rest.dropFirst(2)) : bytes
    }

    func apply(_ bytes: [UInt8]) -> [UInt8] {
        switch self {
        case .dropFirst(let count): Array(bytes.dropFirst(max(0, count)))
        case .dropPrefix(let prefix): bytes.starts(with: prefix) ? Array(bytes.dropFirst(prefix.count)) : bytes
        case .dropLine(let line): withoutLine(line, bytes)
        case .callback: bytes
        }
    }
}
