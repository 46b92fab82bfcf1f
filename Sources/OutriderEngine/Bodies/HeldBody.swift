// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// Long bodies of requests: in memory while the budget has room, else in private files.
extension Attempt {
    /// Bytes of the body in memory.
    var heldBytes: Int {
        switch body {
        case .none, .file: 0
        case .bytes(let bytes): bytes.count
        case .composed(let body): body.heldBytes
        }
    }

    /// Whether the budget counts the body.
    var holdsMuch: Bool { heldBytes > MemoryBudget.counted }

    /// Charges the body to the budget, or moves its bytes to a file.
    mutating func hold(_ quota: BodyQuota, _ workspace: Workspace) async throws(HTTPFailure) {
        if let charge = quota.hold(heldBytes) {
            bodyHolder = charge
            return
        }
        let store = BodyStore(quota: quota, workspace: workspace)
        switch body {
        case .none, .file: break
        case .bytes(let bytes):
            let part = try await Self.spilled(bytes, store)
            let plain = plainBodySize
            body = .composed(ComposedBody([.spilt(part)]))
            plainBodySize = plain
            bodyHolder = part
        case .composed(let composed):
            let pieces = try await Self.spilled(composed.pieces, store)
            body = .composed(ComposedBody(pieces, coding: composed.coding))
            bodyHolder = SpilledPieces()
        }
    }

    /// The pieces with parts of files in place of bytes: pieces in a row are a single part.
    private static func spilled(
        _ pieces: [ComposedBody.Piece], _ store: BodyStore
    ) async throws(HTTPFailure) -> [ComposedBody.Piece] {
        var (found, row): ([ComposedBody.Piece], [UInt8]) = ([], [])
        for (index, piece) in pieces.enumerated() {
            if case .bytes(let bytes) = piece { row += bytes } else { found.append(piece) }
            guard !row.isEmpty else { continue }
            if index + 1 < pieces.count, case .bytes = pieces[index + 1] { continue }
            found.append(.spilt(try await spilled(row, store)))
            row = []
        }
        return found
    }

    private static func spilled(_ bytes: [UInt8], _ store: BodyStore) async throws(HTTPFailure) -> SpilledBytes {
        try await offLoop(for: store.quota.client) { () throws(HTTPFailure) in try SpilledBytes(bytes, in: store) }
    }
}

/// Says that bytes of a composed body are in files, which the pieces hold.
private final class SpilledPieces: BodyHolder {}
