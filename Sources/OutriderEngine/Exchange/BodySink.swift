// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Collects the body of a response: in memory up to a limit, in a private file beyond; or discards the body.
struct BodySink: ~Copyable {
    private let destination: BodyDestination
    private let maxInline: Int
    private let store: BodyStore
    /// Bytes so far, decoded.
    private(set) var size = 0
    private var memory: [UInt8] = []
    /// The declared length of a body for the result; 0 if unknown.
    private var expected = 0
    /// Bytes of memory that are charged to the quota.
    private var charged = 0
    /// The budget's memory for a body that goes into the result; nil for a short body.
    private var inlineCharge: MemoryCharge?
    /// A body for the result was too large for the budget.
    private var isSpilt = false
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

    /// Reserves memory for the declared length: for the first 1 MiB now, for the rest once so much has come.
    mutating func expect(_ bytes: Int64?) {
        guard destination == .inline, let bytes, let bytes = Int(exactly: bytes), bytes > 0 else { return }
        expected = min(bytes, maxInline)
        memory.reserveCapacity(min(expected, 1 << 20))
    }

    /// Takes a chunk. If the result is not nil, the caller writes the spill and calls `wrote` before the next `take`.
    mutating func take(_ chunk: ByteBuffer) -> Spill? {
        let count = chunk.readableBytes
        size += count
        switch destination {
        case .discard: return nil
        case .inline where !isKept && size <= maxInline:
            if hasRoom(size) {
                append(chunk)
                return nil
            }
            isSpilt = true
        case .inline, .stored, .file:
            // a body over `maxInline` is stored for good
            if size > maxInline { isSpilt = false }
        }
        isKept = true
        inlineCharge = nil
        let staysInMemory =
            destination != .file && file == nil && size <= store.quota.limits.memoryPerBody && charge(upTo: size)
        append(chunk)
        guard !staysInMemory, file == nil || memory.count >= SpillFile.pieceBytes else { return nil }
        return spill()
    }

    /// The spilled bytes are in the file.
    mutating func wrote(_ file: SpillFile) { self.file = file }

    /// The body, complete or partial; or a spill to write before calling `finish` again. With `keeping`, even a short
    /// body is charged, because its memory stays in use.
    mutating func finish(keeping: Bool, contentType: String?) -> Ending {
        if destination == .discard || (size == 0 && !isKept) { return .body(.none) }
        if !isKept {
            guard keeping else { return .body(.memory(memory, inlineCharge)) }
            inlineCharge = nil
            if let charge = store.quota.charge(memory: size) { return .body(.memory(memory, charge)) }
            (isKept, isSpilt) = (true, true)
        }
        // the bytes in memory are the whole body, unless a file could not take them
        guard file != nil || destination == .file || !charge(upTo: memory.count) else {
            charged = 0
            let body = KeptBody(memory: memory, quota: store.quota, contentType: contentType, isSpilt: isSpilt)
            return .body(.kept(body))
        }
        guard let file, memory.isEmpty else { return .spill(spill()) }
        // fewer bytes than came, if the disk was full
        let body = KeptBody(
            file: file.path, size: file.count, quota: store.quota, contentType: contentType, isSpilt: isSpilt)
        file.handOver()
        self.file = nil
        // other bodies go to files by themselves
        if isSpilt || (destination == .stored && size <= store.quota.limits.memoryPerBody) {
            store.quota.budget.countSpill(size)
        }
        return .body(.kept(body))
    }

    private mutating func append(_ chunk: ByteBuffer) {
        let needed = memory.count + chunk.readableBytes
        if needed > memory.capacity, needed <= expected { memory.reserveCapacity(expected) }
        chunk.withUnsafeReadableBytes { memory.append(contentsOf: $0) }
    }

    /// Whether the budget has room for an inline body of that size.
    private mutating func hasRoom(_ size: Int) -> Bool {
        guard size > MemoryBudget.counted else { return true }
        let held = inlineCharge?.bytes ?? 0
        let wanted = size * MemoryBudget.inlineWeight
        if wanted <= held { return true }
        let more = max(wanted - held, min(held, 1 << 20, maxInline * MemoryBudget.inlineWeight - held))
        guard let charge = store.quota.hold(more) else { return false }
        if let inlineCharge { inlineCharge.take(over: charge) } else { inlineCharge = charge }
        return true
    }

    private mutating func charge(upTo size: Int) -> Bool {
        guard size > charged else { return true }
        guard store.quota.takeMemory(size - charged, of: size) else { return false }
        charged = size
        return true
    }

    /// Moves the bytes in memory to the file.
    private mutating func spill() -> Spill {
        defer { (memory, expected) = ([], 0) }
        if charged > 0 {
            store.quota.giveMemory(charged)
            charged = 0
        }
        return Spill(bytes: memory, file: file, store: store)
    }
}

extension BodySink {
    enum Ending {
        case body(ExchangeOutcome.Body)
        case spill(Spill)
    }

    /// Bytes on their way from memory to a file.
    struct Spill: Sendable {
        fileprivate let bytes: [UInt8]
        fileprivate let file: SpillFile?
        fileprivate let store: BodyStore

        /// Returns the file that has the bytes. Throws `limitExceeded`, and failures of the file system.
        func write() async throws(HTTPFailure) -> SpillFile {
            try await offLoop(for: store.quota.client) { () throws(HTTPFailure) in
                let open = if let file { file } else { try SpillFile(in: store) }
                try open.append(bytes)
                return open
            }
        }
    }

    /// Takes a chunk, and writes the spill if any.
    mutating func keep(_ chunk: ByteBuffer) async throws(HTTPFailure) {
        if let spill = take(chunk) { wrote(try await spill.write()) }
    }

    /// The body, after all spills are written.
    mutating func end(keeping: Bool, contentType: String?) async throws(HTTPFailure) -> ExchangeOutcome.Body {
        while true {
            switch finish(keeping: keeping, contentType: contentType) {
            case .body(let body): return body
            case .spill(let spill): wrote(try await spill.write())
            }
        }
    }
}
