// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Asks the code of one client: by a call of ours, or by a decision that it comes for.
struct Asker: Sendable {
    let peer: any Peer
    /// Where a decision waits under its handle.
    let decisions: HandleTable
    /// Where the client learns of it.
    let inbox: EventQueue
    let engine: Engine
    /// Who is told of it.
    private let service: Service
    private let owner: MonitorOwner

    init(_ call: Call<ClientScope>) {
        service = call.scope.service
        owner = call.scope.owner
        peer = call.peer
        decisions = call.scope.handles
        inbox = call.scope.inbox
        engine = call.scope.service.engine
    }

    /// The answer, understood. Throws callbackTimedOut, callbackFailed, clientGone or tooMany: there is none then.
    ///
    /// - Parameter events: of the request that it is about.
    func ask<Answer: JSONDecodable>(
        _ kind: CallbackKind, _ spec: CallbackSpec, _ names: QuestionNames, _ content: CallbackQuestion.Content,
        events: any DecisionOutlet
    ) async throws(RPCError) -> Answer {
        let watch = CallbackWatch(kind, names, owner, service)
        do throws(RPCError) {
            let answer: Answer = try await answer(kind, spec, names, content, events)
            watch.answered()
            return answer
        } catch {
            watch.failed(error)
            throw error
        }
    }

    private func answer<Answer: JSONDecodable>(
        _ kind: CallbackKind, _ spec: CallbackSpec, _ names: QuestionNames, _ content: CallbackQuestion.Content,
        _ events: any DecisionOutlet
    ) async throws(RPCError) -> Answer {
        let question = CallbackQuestion(
            names: names, deadline: WallTime.now.later(by: spec.timeout), content: content)
        let value =
            switch spec.way {
            case .request:
                try await peer.ask(Question(kind.method, question), timeout: .seconds(spec.timeout)).value
            case .pull: try await pull(kind, spec, question, events)
            }
        do throws(JSONComplaint) {
            return try Answer(json: value)
        } catch {
            let pointer = error.pointer.description
            throw RPCError(
                .callbackFailed, "the answer to \(kind.method) cannot be used: \(error.message)",
                data: ["pointer": .string(pointer)])
        }
    }

    private func pull(
        _ kind: CallbackKind, _ spec: CallbackSpec, _ question: CallbackQuestion, _ events: any DecisionOutlet
    ) async throws(RPCError) -> JSONValue {
        let decision = Decision()
        let handle = Handle<Decision>()
        try decisions.keep(decision, as: handle)
        defer { decisions.remove(handle) }
        let alarm = engine.later(seconds: spec.timeout) {
            decision.settle(
                .failure(
                    RPCError(
                        .callbackTimedOut, "the client did not decide about \(kind.method) within \(spec.timeout) s",
                        data: ["method": .string(kind.method), "timeout": .real(spec.timeout)])))
        }
        defer { alarm.cancel() }
        await events.decision(
            DecisionShape(decision: handle, kind: kind, question: question), isOpen: { decision.isOpen }, also: inbox)
        return try await decision.outcome().get()
    }
}

/// Where the events of one request go.
protocol DecisionOutlet: Sendable {
    /// Something to decide: it waits for `events.next`, for that of the request or that of the connection, and is sent
    /// where such events are wanted.
    ///
    /// - Parameter isOpen: whether it still matters.
    func decision(_ shape: DecisionShape, isOpen: @escaping @Sendable () -> Bool, also inbox: EventQueue) async
}

/// The rest of the params of `event.decision`.
struct DecisionShape: Sendable {
    var decision: Handle<Decision>
    var kind: CallbackKind
    var question: CallbackQuestion

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("decision", decision)
        writer.member("kind", kind.rawValue)
        writer.member("params", question)
        writer.member("expires", TimeShape(question.deadline))
    }
}

extension WallTime {
    func later(by seconds: Double) -> WallTime {
        let whole = seconds.rounded(.down)
        // safe: timeouts of questions are at most 600 seconds
        let nanoseconds = self.nanoseconds &+ Int((seconds - whole) * 1e9)
        // safe: the same
        return WallTime(
            seconds: self.seconds &+ Int(whole) &+ nanoseconds / 1_000_000_000,
            nanoseconds: nanoseconds % 1_000_000_000)
    }
}
