// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// Many bytes that wait for a reader: in memory or, if the budget has no room for them, in a private file.
package final class LongBody: Sendable {
    /// Bytes up to this are never counted, nor moved.
    package static let counted = 64 << 10
    /// The most bytes that an upload takes at once.
    package static let pieceBytes = 256 << 10

    private struct State {
        /// Nil once the bytes are in the file.
        var bytes: [UInt8]?
        var file: (any SpilledPayload)?
        var charge: (any PayloadCharge)?
        /// Whether the bytes are counted, or in the file, or not limited.
        var isSettled = false
        /// Whether no reader needs the bytes any more.
        var isOver = false
    }

    package let count: Int
    private let state: Mutex<State>

    package init(_ bytes: [UInt8]) {
        count = bytes.count
        state = Mutex(State(bytes: bytes))
    }

    /// Counts the bytes, or moves them to a file. No effect after `end`.
    ///
    /// - Parameters:
    ///   - message: memory that is released once this has happened.
    ///   - then: runs once, from another thread, with whether memory or disk has room; not after `end`, nor if the
    ///     bytes are counted at once.
    /// - Returns: whether the bytes are counted at once.
    @discardableResult
    package func settle(
        _ memory: any PayloadMemory, after message: (any PayloadCharge)? = nil,
        then: @escaping @Sendable (Bool) -> Void = { _ in }
    ) -> Bool {
        guard let bytes = state.withLock({ $0.isOver ? nil : $0.bytes }) else {
            message?.release()
            return true
        }
        if let charge = memory.hold(count) {
            keep(charge)
            message?.release()
            return true
        }
        memory.spill(bytes) { [weak self] file in
            defer { message?.release() }
            guard let self else { return }
            if let file {
                keep(file)
                then(true)
            } else if state.withLock({ $0.isOver }) {
                return
            } else if let charge = memory.take(count) {
                keep(charge)
                then(true)
            } else {
                then(false)
            }
        }
        return false
    }

    /// The bytes stay in memory, uncounted: there is no limit.
    package func settle() { state.withLock { $0.isSettled = true } }

    /// Whether the bytes may leave: they are counted, in a file, or not limited.
    package var isSettled: Bool { state.withLock { $0.isSettled } }

    private func keep(_ file: any SpilledPayload) {
        state.withLock { state in
            guard !state.isOver else { return }
            (state.file, state.bytes, state.isSettled) = (file, nil, true)
        }
    }

    private func keep(_ charge: any PayloadCharge) {
        let isOver = state.withLock { state in
            if !state.isOver { (state.charge, state.isSettled) = (charge, true) }
            return state.isOver
        }
        if isOver { charge.release() }
    }

    /// The reader has all bytes: gives memory and file back.
    package func end() {
        let old = state.withLock { state in
            defer { state = State(isSettled: true, isOver: true) }
            return state
        }
        old.charge?.release()
    }

    package enum Place {
        case memory([UInt8])
        case file(any SpilledPayload)
    }

    /// Where the bytes are now.
    package var place: Place {
        state.withLock { state in
            if let bytes = state.bytes { return .memory(bytes) }
            return state.file.map { .file($0) } ?? .memory([])
        }
    }
}
