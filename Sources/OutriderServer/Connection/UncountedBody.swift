// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// The long body of a queued message without memory.
struct UncountedBody: Sendable {
    /// The kind of a message, which decides about a message without room.
    enum Message {
        /// An error is sent instead.
        case reply(RequestID?)
        /// The callback fails.
        case callback(Int64)
        case droppable
        /// The client gets the message, or nothing more.
        case owed
    }

    /// A reply in a batch, delivered once the body is counted.
    struct Member {
        var place: BatchPlace
        var reply: OutgoingFrame
    }

    let body: LongBody
    let message: Message
    let member: Member?

    init(_ body: LongBody, of outgoing: Outgoing, _ member: Member? = nil) {
        self.body = body
        self.member = member
        message =
            switch outgoing {
            case .result(let id, _): .reply(id)
            case .error(let id, _): .reply(id)
            case .callback(let id, _): .callback(id)
            case .event(let event): event.isDroppable ? .droppable : .owed
            }
    }

    /// Why the message is not sent.
    var error: RPCError {
        let name = if case .callback = message { "the callback" } else { "the reply" }
        return RPCError(
            .tooMany,
            "\(name) of \(body.count) bytes has room neither in the memory of the service nor in a private file below "
                + "$TMPDIR (read replies sooner, ask for less at once, free space on the disk, or raise --memory)",
            data: ["what": .string("memory")])
    }
}

extension ConnectionState {
    /// The remaining work for a message without room.
    enum Refusal {
        case effects(Effects)
        case callback(CheckedContinuation<CallbackResponse, any Error>?)
        case dropped
        /// The connection must end.
        case lost
    }

    /// There is room for neither the body nor its message.
    mutating func refuse(_ refused: UncountedBody) -> Refusal {
        if phase == .closed { return .effects(Effects()) }
        switch refused.message {
        case .reply(let id):
            let error = Outgoing.error(id, refused.error)
            if let member = refused.member { return .effects(fill(member.place, error.frame(nil))) }
            outbox.replace(refused.body, with: error.frame(framing))
            return .effects(Effects(flush: wantsFlush()))
        case .callback(let id):
            outbox.replace(refused.body, with: nil)
            return .callback(calls.gaveUp(id) ? settle(id, .failure(refused.error)) : nil)
        case .droppable:
            outbox.replace(refused.body, with: nil)
            outbox.countDropped()
            return .dropped
        case .owed: return .lost
        }
    }
}

extension Connection {
    /// Counts long messages before they leave, or moves them to files. On the loop.
    func count(_ bodies: [UncountedBody]) {
        let memory = dispatch?.memory
        wire.expectMuch()
        for body in bodies {
            guard let memory else {
                body.body.settle()
                counted(body)
                continue
            }
            let isCounted = body.body.settle(memory) { hasRoom in
                self.onLoop {
                    if hasRoom { self.counted(body) } else { self.refuse(body, memory) }
                    self.flush()
                }
            }
            if isCounted { counted(body) }
        }
    }

    private func counted(_ body: UncountedBody) {
        guard let member = body.member else { return }
        perform(state.withLock { $0.phase == .closed ? Effects() : $0.fill(member.place, member.reply) })
    }

    private func refuse(_ body: UncountedBody, _ memory: any PayloadMemory) {
        memory.countRefusal()
        switch state.withLock({ $0.refuse(body) }) {
        case .effects(let effects): perform(effects)
        case .callback(let continuation): continuation?.resume(throwing: body.error)
        case .dropped: service.tally.eventsDropped.count()
        case .lost: abort("has no room in memory, nor in a file")
        }
    }
}
