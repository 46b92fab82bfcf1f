// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderJSON
import OutriderRPC
import Synchronization

/// How a connection changes from messages to a method's own bytes.
///
///     messages ──hijack──▶ hijacked ──the call's result──▶ raw
///         │                  │
///         └── the call's ────┴──▶ ending: running calls get replies, further input is discarded
///             error
///
/// While a connection is hijacked its input is not parsed: the bytes after the call may be raw already. The same bytes
/// follow a call that fails, and may come from an attacker: parsed as messages, they could be arbitrary calls.
extension Connection {
    func hijack() throws(RPCError) -> any RawPipe {
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

    /// Reasons not to parse further messages: the connection is hijacked, or the outbox is over its limit.
    var obstacles: (isHijacked: Bool, isFull: Bool) { state.withLock { ($0.raw != nil, $0.outboxFull) } }

    /// Whether raw bytes may follow a call of that method. False on stdio, which is the client's only connection.
    func takesBytes(_ method: String) -> Bool {
        setting.transport == .socket && dispatch?.rawMethods.contains(method) == true
    }

    /// The same for a frame that is not a valid call.
    func mayTakeBytes(_ frame: UnsafeBufferPointer<UInt8>) -> Bool {
        guard setting.transport == .socket, let rawMethods = dispatch?.rawMethods else { return false }
        return MalformedMessage.mayCall(rawMethods, in: frame)
    }

    /// A call that takes bytes has failed: discards further input, and closes after the running calls have replies.
    func endMessages() {
        onLoop { self.feed?.stop() }
    }

    /// The hijacking call has its result or error. Runs `work` afterwards.
    func settle(_ raw: RawConnection, isRaw: Bool, then work: @escaping @Sendable () -> Void) {
        onLoop {
            guard isRaw else {
                self.state.withLock { $0.raw = nil }
                raw.gone()
                return work()
            }
            // the reply first
            while let gathered = self.state.withLock({ $0.gather() }) { _ = self.write(gathered) }
            // a long message before the reply comes from its file
            if self.state.withLock({ !$0.isWritten && $0.phase != .closed }) {
                _ = self.loop.scheduleTask(in: .milliseconds(2)) { self.settle(raw, isRaw: isRaw, then: work) }
                return self.wire.flush()
            }
            defer { work() }
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
