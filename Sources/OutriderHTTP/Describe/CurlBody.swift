// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// How curl gets the body of an attempt: as a word, or from a command's output.
struct CurlBody {
    /// The command whose output is the body; nil if none is needed.
    private(set) var input: String?
    private(set) var words: [String] = []
    /// Bytes on the wire; nil if unknown in advance.
    private(set) var size: Int64? = 0
    private(set) var note: String?

    /// A longer body is not written into the command: the kernel limits a word to 128 KiB, and no person reads more.
    private static let longestWord = 64 << 10
    private static let longest = 1 << 20

    init(_ attempt: Attempt, _ redaction: Redaction) {
        switch attempt.body {
        case .none:
            // the empty body, for methods that expect a body
            if ["POST", "PUT", "PATCH"].contains(attempt.method) { words = ["--data-raw", "''"] }
        case .file("-", let size):
            self.size = size
            words = ["--data-binary", "@-"]
            note = "the body of \(size) bytes is not kept: give it on standard input"
        case .file(let path, let size):
            self.size = size
            words = ["--data-binary", ShellText.quoted("@\(path)")]
        case .bytes(let bytes):
            let type = attempt.fields.first("Content-Type")
            take(redaction.body(bytes, contentType: type))
        case .composed(let body): take(body, redaction, type: attempt.fields.first("Content-Type"))
        }
    }

    /// The pieces without their secrets: bytes in a row are masked together, since a secret may lie in several of them.
    private static func masked(
        _ pieces: [ComposedBody.Piece], _ redaction: Redaction, type: String?
    ) -> [ComposedBody.Piece] {
        var (found, row): ([ComposedBody.Piece], [UInt8]) = ([], [])
        var isChanged = false
        func end() {
            let shown = redaction.body(row, contentType: type)
            if shown != row { isChanged = true }
            if !row.isEmpty { found.append(.bytes(shown)) }
            row = []
        }
        for piece in pieces {
            if case .bytes(let bytes) = piece {
                row += bytes
            } else {
                end()
                found.append(piece)
            }
        }
        end()
        return isChanged ? found : pieces
    }

    /// A pipeline that outputs the pieces in order.
    private mutating func take(_ body: ComposedBody, _ redaction: Redaction, type: String?) {
        size = body.size
        words = ["--data-binary", "@-"]
        if !body.feeds.isEmpty {
            note = "the body is fed by the client: give it on standard input"
            return
        }
        guard body.heldBytes <= Self.longest, !body.isSpilt else {
            note = "the body is too long for a command: give it on standard input"
            return
        }
        let commands = Self.masked(body.pieces, redaction, type: type).map { piece in
            switch piece {
            case .bytes(let bytes): ShellText.printf(bytes)
            case .file(let path, _, _): "cat \(ShellText.quoted(path))"
            case .feed, .spilt: ":"
            }
        }
        let all = commands.count == 1 ? commands[0] : "{ \(commands.joined(separator: "; ")); }"
        switch body.coding {
        case nil: input = all
        case .gzip: input = "\(all) | gzip -c"
        case .deflate: input = "\(all) | pigz -zc"
        case .br: input = "\(all) | brotli -cq 5"
        case .zstd: input = "\(all) | zstd -cq"
        }
        if body.coding != nil { note = "the body is compressed by another program: its bytes may differ" }
    }

    private mutating func take(_ bytes: [UInt8]) {
        size = Int64(bytes.count)
        guard bytes.count <= Self.longest else {
            note = "the body of \(bytes.count) bytes is too long for a command: give it on standard input"
            words = ["--data-binary", "@-"]
            return
        }
        if bytes.count <= Self.longestWord, let text = String(validating: bytes, as: UTF8.self), Self.isText(text) {
            words = ["--data-raw", ShellText.quoted(text)]
            return
        }
        input = ShellText.printf(bytes)
        words = ["--data-binary", "@-"]
    }

    /// Whether the text can be pasted unchanged.
    private static func isText(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x0A }
    }
}
