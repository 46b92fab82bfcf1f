// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Where the body of an answer goes: memory up to a limit, a private file beyond it, or nowhere.
struct BodySink: ~Copyable {
    private let destination: BodyDestination
    private let maxInline: Int
    private let store: BodyStore
    /// Bytes so far, decoded.
    private(set) var size = 0
    private var memory: [UInt8] = []
    /// What of the memory the quota knows of.
    private var charged = 0
    private var isKept: Bool
    private var file: SpillFile?

    init(_ destination: BodyDestination, maxInline: Int, store: BodyStore) {
        self.destination = destination
        self.maxInline = maxInline
        self.store = store
        isKept = destination == .stored || destination == .file
    }

    deinit {
        if charged > 0 { store.quota.giveMemory(charged) }
    }

    /// The declared length, so that memory grows once.
    mutating func expect(_ bytes: Int64?) {
        guard destination == .inline, let bytes, let bytes = Int(exactly: bytes), bytes > 0 else { return }
        memory.reserveCapacity(min(bytes, maxInline, 1 << 20))
    }

    mutating func take(_ chunk: ByteBuffer) async throws(HTTPFailure) {
        let count = chunk.readableBytes
        size += count
        switch destination {
        case .discard: return
        case .inline where !isKept && size <= maxInline:
            append(chunk)
            return
        case .inline, .stored, .file: break
        }
        isKept = true
        if destination != .file, file == nil, size <= store.quota.limits.memoryPerBody, charge(upTo: size) {
            append(chunk)
            return
        }
        append(chunk)
        if file == nil || memory.count >= SpillFile.pieceBytes { try await spill() }
    }

    /// Takes it if there is nothing to wait for; false, and nothing is taken, if there is.
    mutating func takeAtOnce(_ chunk: ByteBuffer) -> Bool {
        let count = chunk.readableBytes
        switch destination {
        case .discard: break
        case .inline where !isKept && size + count <= maxInline: append(chunk)
        case .inline, .stored, .file: return false
        }
        size += count
        return true
    }

    /// The body, if it need not be kept for others to ask for; nil if `finish` has the word.
    mutating func finishAtOnce(keeping: Bool) -> ExchangeOutcome.Body? {
        if destination == .discard || (size == 0 && !isKept) { return ExchangeOutcome.Body.none }
        return isKept || keeping ? nil : .memory(memory, nil)
    }

    /// The body, whole or as far as it came. With `keeping`, even a short one is charged for, because it stays.
    mutating func finish(keeping: Bool, contentType: String?) async throws(HTTPFailure) -> ExchangeOutcome.Body {
        if destination == .discard || (size == 0 && !isKept) { return .none }
        if !isKept {
            guard keeping else { return .memory(memory, nil) }
            if let charge = store.quota.charge(memory: size) { return .memory(memory, charge) }
            isKept = true
        }
        if destination == .file || (file == nil && !charge(upTo: size)) { try await spill() }
        if let file {
            if !memory.isEmpty { try await spill() }
            let body = KeptBody(file: file.path, size: size, quota: store.quota, contentType: contentType)
            file.handOver()
            self.file = nil
            return .kept(body)
        }
        charged = 0
        return .kept(KeptBody(memory: memory, quota: store.quota, contentType: contentType))
    }

    private mutating func append(_ chunk: ByteBuffer) {
        chunk.withUnsafeReadableBytes { memory.append(contentsOf: $0) }
    }

    private mutating func charge(upTo size: Int) -> Bool {
        guard size > charged else { return true }
        guard store.quota.takeMemory(size - charged) else { return false }
        charged = size
        return true
    }

    /// Moves what is in memory to the file.
    private mutating func spill() async throws(HTTPFailure) {
        let bytes = memory
        memory = []
        if charged > 0 {
            store.quota.giveMemory(charged)
            charged = 0
        }
        let store = store
        let open = file
        file = try await offLoop(for: store.quota.client) { () throws(HTTPFailure) in
            let file: SpillFile
            if let open { file = open } else { file = try SpillFile(in: store) }
            try file.append(bytes)
            return file
        }
    }
}
