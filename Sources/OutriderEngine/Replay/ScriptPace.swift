// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

extension TimeAmount {
    /// So many seconds, at most a year.
    static func seconds(_ seconds: Double) -> TimeAmount {
        .nanoseconds(Int64(min(max(seconds, 0), 31_536_000) * 1_000_000_000))
    }
}

extension AttemptScript {
    /// Whether the attempt waits for anything but its reader.
    var takesTime: Bool {
        delay > 0 || rate != nil || staysOpen || messages != nil || chunks.contains { $0.after > 0 }
    }

    /// Cuts the body where it breaks off, and into the pieces in which it comes slowly.
    fileprivate mutating func pace() {
        if let cut {
            var room = cut
            chunks = chunks.compactMap { chunk in
                guard room > 0 else { return nil }
                let taken = chunk.bytes.prefix(room)
                room -= taken.count
                return StubReply.Chunk(after: chunk.after, taken)
            }
        }
        guard let rate, rate > 0 else { return }
        // twenty pieces a second, and few enough that a long body at a low rate takes no more memory than another
        let size = max(1, rate / 20, chunks.reduce(0) { $0 + $1.bytes.count } / 4096)
        chunks = chunks.flatMap { chunk in
            stride(from: chunk.bytes.startIndex, to: chunk.bytes.endIndex, by: size).map { start in
                let piece = chunk.bytes[start..<min(start + size, chunk.bytes.endIndex)]
                return StubReply.Chunk(after: Double(piece.count) / Double(rate), piece)
            }
        }
    }
}

extension PreparedScript {
    /// The script for an attempt whose response may have a body, or has none.
    func paced(hasBody: Bool) -> PreparedScript {
        if value.chunks.isEmpty || hasBody && value.cut == nil && value.rate == nil { return self }
        var script = value
        if !hasBody { script.chunks = [] }
        script.pace()
        return PreparedScript(script)
    }
}
