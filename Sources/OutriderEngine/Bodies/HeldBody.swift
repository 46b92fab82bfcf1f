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
            let file = try await Self.spilled(bytes, store)
            body = .file(path: file.path, size: Int64(bytes.count))  // safe: an Int is an Int64
            bodyHolder = file
        case .composed(let composed):
            let (pieces, files) = try await Self.spilled(composed.pieces, store)
            body = .composed(ComposedBody(pieces, coding: composed.coding))
            bodyHolder = SpilledPieces(files)
        }
    }

    /// The pieces with files in place of bytes: pieces in a row share a file.
    private static func spilled(
        _ pieces: [ComposedBody.Piece], _ store: BodyStore
    ) async throws(HTTPFailure) -> ([ComposedBody.Piece], [SpilledBytes]) {
        var (found, files, row): ([ComposedBody.Piece], [SpilledBytes], [UInt8]) = ([], [], [])
        for (index, piece) in pieces.enumerated() {
            if case .bytes(let bytes) = piece { row += bytes } else { found.append(piece) }
            guard !row.isEmpty else { continue }
            if index + 1 < pieces.count, case .bytes = pieces[index + 1] { continue }
            let file = try await spilled(row, store)
            files.append(file)
            found.append(.file(path: file.path, size: Int64(row.count), pointer: nil))  // safe: an Int is an Int64
            row = []
        }
        return (found, files)
    }

    private static func spilled(_ bytes: [UInt8], _ store: BodyStore) async throws(HTTPFailure) -> SpilledBytes {
        try await offLoop(for: store.quota.client) { () throws(HTTPFailure) in try SpilledBytes(bytes, in: store) }
    }
}

/// The files of a composed body.
private final class SpilledPieces: BodyHolder {
    private let files: [SpilledBytes]

    init(_ files: [SpilledBytes]) { self.files = files }
}
