// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderRPC

/// The memory for the long message that a connection is reading. Everything runs on the loop.
///
/// Short messages take none. If there is no room the connection stops reading until there is some, or its patience
/// ends.
final class MessageMemory {
    /// Memory is doubled, or taken in steps of this.
    private static let step = 512 << 10
    /// How long a message that exceeds the budget may take to arrive: other messages wait for its end.
    private static let haste = TimeAmount.seconds(10)

    private let memory: (any PayloadMemory)?
    private let loop: any EventLoop
    /// How long a message waits for memory.
    private let patience: TimeAmount
    private var charge: (any PayloadCharge)?
    private var waiting: UInt64?
    /// Changes with each wait, and with each message.
    private var turn = 0
    private var alarm: Scheduled<Void>?

    init(_ memory: (any PayloadMemory)?, loop: any EventLoop, patience: TimeAmount) {
        self.memory = memory
        self.loop = loop
        self.patience = patience
    }

    /// Whether there is memory for a message of so many bytes: they are read, parsed and decoded, of which two copies
    /// exist at once.
    func covers(_ count: Int) -> Bool {
        guard let memory, count > LongBody.counted else { return true }
        let missing = missing(count)
        if missing <= 0 { return true }
        if let charge { return charge.grow(by: missing) }
        charge = memory.take(missing)
        return charge != nil
    }

    /// Calls `then` once there is memory, or `giveUp` if there was none for too long. Not to be called again before.
    func wait(_ count: Int, _ then: @escaping () -> Void, giveUp: @escaping () -> Void) {
        guard let memory else { return then() }
        turn &+= 1
        let (turn, loop) = (turn, loop)
        let bound = NIOLoopBound((self, then, giveUp), eventLoop: loop)
        alarm = loop.scheduleTask(in: patience) {
            guard bound.value.0.turn == turn else { return }
            bound.value.0.end()
            memory.countRefusal()
            bound.value.2()
        }
        waiting = memory.wait(missing(count)) { charge in
            loop.execute { bound.value.0.got(charge, turn, bound.value.1, bound.value.2) }
        }
    }

    /// The calls of a message that exceeds the budget run: after some time, another message may exceed it.
    static func endSoon(_ charge: any PayloadCharge, on loop: any EventLoop) {
        loop.scheduleTask(in: haste) { [weak charge] in charge?.giveWay() }
    }

    /// The message is complete: its memory goes with its call.
    func take() -> (any PayloadCharge)? {
        turn &+= 1
        alarm?.cancel()
        defer { charge = nil }
        return charge
    }

    /// No message is being read any more.
    func end() {
        turn &+= 1
        alarm?.cancel()
        if let waiting { memory?.cancelWait(waiting) }
        waiting = nil
        charge?.release()
        charge = nil
    }

    private func missing(_ count: Int) -> Int {
        let held = charge?.bytes ?? 0
        let missing = 2 &* count &- held
        return missing <= 0 ? 0 : max(missing, min(held, Self.step))
    }

    private func got(
        _ new: any PayloadCharge, _ turn: Int, _ then: @escaping () -> Void, _ giveUp: @escaping () -> Void
    ) {
        guard turn == self.turn else { return new.release() }
        waiting = nil
        alarm?.cancel()
        if let charge { new.take(over: charge) }
        charge = new
        self.turn &+= 1
        if new.isBeyond {
            let (turn, memory) = (self.turn, memory)
            let bound = NIOLoopBound((self, giveUp), eventLoop: loop)
            alarm = loop.scheduleTask(in: Self.haste) {
                guard bound.value.0.turn == turn else { return }
                bound.value.0.end()
                memory?.countRefusal()
                bound.value.1()
            }
        }
        then()
    }
}
