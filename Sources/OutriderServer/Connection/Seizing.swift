// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderJSON
import OutriderRPC
import Synchronization

/// How a connection stops to carry messages, and carries a method's own bytes instead.
///
///     messages ──seize──▶ seized ──the call's result──▶ raw
///         │                  │
///         └── the call's ────┴──▶ ending: what runs is answered, nothing more is looked at
///               error
///
/// While it is seized nothing that comes is looked at: what follows the call may be bytes already. The same bytes follow a
/// call that fails, and somebody else may have written them: as messages they would be anything that he likes.
extension Connection {
    func seize() throws(RPCError) -> any RawPipe {
        guard setting.transport == .socket else {
            throw RPCError(.notPermitted, "raw bytes need a connection of their own: a socket, which stdio is not")
        }
        let raw = RawConnection(wire, loop: loop, tally: service.tally)
        let isFree = state.withLock { state in
            guard state.phase == .open || state.phase == .ending, state.raw == nil, state.calls.count == 1,
                state.batches.isEmpty
            else { return false }
            state.raw = raw
            return true
        }
        guard isFree else {
            throw RPCError(
                .wrongState, "other calls are in progress: raw bytes need a connection of their own",
                data: ["state": .string("busy")])
        }
        return raw
    }

    /// Why no further message may be looked for in what comes: it is seized, or too much waits to be written.
    var obstacles: (isSeized: Bool, isFull: Bool) { state.withLock { ($0.raw != nil, $0.outboxFull) } }

    /// Whether bytes may come behind a call of that name. Stdio carries none, and is all that its client has.
    func takesBytes(_ method: String) -> Bool {
        setting.transport == .socket && dispatch?.takers.contains(method) == true
    }

    /// The same where no call could be made of the frame.
    func mayTakeBytes(_ frame: UnsafeBufferPointer<UInt8>) -> Bool {
        guard setting.transport == .socket, let takers = dispatch?.takers else { return false }
        return takers.contains { !frame.ranges(of: Array("\"\($0)\"".utf8)).isEmpty }
    }

    /// A call that takes bytes has failed: what comes behind it is thrown away, what runs is answered, then it closes.
    func endMessages() {
        onLoop { self.feed?.stop() }
    }

    /// The call that seized the connection is answered, with its result or with an error. Then runs the work.
    func settle(_ raw: RawConnection, isRaw: Bool, then work: @escaping @Sendable () -> Void) {
        onLoop {
            defer { work() }
            guard isRaw else {
                self.state.withLock { $0.raw = nil }
                return raw.gone()
            }
            // the reply first
            while let buffer = self.state.withLock({ $0.gather() }) {
                self.service.tally.bytesSent.count(buffer.readableBytes)
                self.wire.write(buffer)
            }
            self.wire.flush()
            let isOpen = self.state.withLock { state in
                guard state.phase == .open || state.phase == .ending else { return false }
                state.phase = .raw
                return true
            }
            guard isOpen else { return raw.gone() }
            raw.open()
            self.feed?.handOver(to: raw)
        }
    }
}
