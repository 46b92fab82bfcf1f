// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Runs the callbacks of a client: by a JSON-RPC request to the client, or by a decision that the client fetches.
struct CallbackRunner: Sendable {
    let peer: any Peer
    /// The table of waiting decisions.
    let decisions: HandleTable
    /// The queue of decision events.
    let inbox: EventQueue
    let engine: Engine
    /// Counts what the client's replies leave in memory.
    let quota: BodyQuota
    /// The service, whose monitors get notes on callbacks.
    private let service: Service
    private let owner: MonitorOwner
    private let line: CallbackLine
    private let decisionLine: CallbackLine

    init(_ call: Call<ClientScope>) {
        service = call.scope.service
        owner = call.scope.owner
        peer = call.peer
        decisions = call.scope.handles
        inbox = call.scope.inbox
        line = call.scope.line
        decisionLine = call.scope.decisionLine
        engine = call.scope.service.engine
        quota = call.scope.quota
    }

    /// Whether the client has disconnected.
    var isGone: Bool { owner.isGone }

    /// The decoded reply. Throws callbackTimedOut, callbackFailed, clientGone or tooMany.
    ///
    /// - Parameter events: of the request that the callback is about.
    func run<Value: JSONDecodable & Sendable>(
        _ kind: CallbackKind, _ spec: CallbackSpec, _ names: CallbackSubject, _ content: CallbackParameters.Content,
        events: any DecisionOutlet
    ) async throws(RPCError) -> Value {
        try await reply(kind, spec, names, content, events: events).value
    }

    /// The same with the memory of the reply's message, for a reply whose content stays.
    ///
    /// The callback waits for a place on the connection, for its timeout at most.
    ///
    /// - Parameter isReconnect: whether a stream reconnects.
    func reply<Value: JSONDecodable & Sendable>(
        _ kind: CallbackKind, _ spec: CallbackSpec, _ names: CallbackSubject, _ content: CallbackParameters.Content,
        events: any DecisionOutlet, isReconnect: Bool = false
    ) async throws(RPCError) -> CallbackReply<Value> {
        let line = spec.way == .pull ? decisionLine : line
        do throws(RPCError) {
            try await line.enter(isReconnect: isReconnect, within: spec.timeout, engine)
        } catch {
            CallbackWatch(kind, names, owner, service).failed(error)
            throw error
        }
        defer { line.leave(isReconnect: isReconnect) }
        let watch = CallbackWatch(kind, names, owner, service)
        do throws(RPCError) {
            let reply: CallbackReply<Value> = try await fetch(kind, spec, names, content, events)
            watch.replied()
            return reply
        } catch {
            watch.failed(error)
            throw error
        }
    }

    private func fetch<Value: JSONDecodable & Sendable>(
        _ kind: CallbackKind, _ spec: CallbackSpec, _ names: CallbackSubject, _ content: CallbackParameters.Content,
        _ events: any DecisionOutlet
    ) async throws(RPCError) -> CallbackReply<Value> {
        let parameters = CallbackParameters(
            names: names, deadline: WallTime.now.later(by: spec.timeout), content: content)
        let reply: CallbackReply<JSONValue>
        switch spec.way {
        case .request:
            let given = try await peer.call(Callback(kind.method, parameters), timeout: .seconds(spec.timeout))
            reply = CallbackReply(value: given.value, charge: given.charge)
        case .pull: reply = try await pull(kind, spec, parameters, events)
        }
        return CallbackReply(value: try await decoded(reply, kind), charge: reply.charge)
    }

    /// Decodes a long reply away from the event loop.
    private func decoded<Value: JSONDecodable & Sendable>(
        _ reply: CallbackReply<JSONValue>, _ kind: CallbackKind
    ) async throws(RPCError) -> Value {
        let value = reply.value
        let decoded: Result<Value, JSONComplaint>
        if reply.charge == nil {
            decoded = Result { () throws(JSONComplaint) in try Value(json: value) }
        } else {
            do throws(HTTPFailure) {
                decoded = try await compute(for: quota.client) {
                    Result { () throws(JSONComplaint) in try Value(json: value) }
                }
            } catch {
                throw RPCError(error)
            }
        }
        do throws(JSONComplaint) {
            return try decoded.get()
        } catch {
            let pointer = error.pointer.description
            throw RPCError(
                .callbackFailed, "the reply to \(kind.method) cannot be used: \(error.placed(orUnder: "result"))",
                data: ["pointer": .string(pointer)])
        }
    }

    private func pull(
        _ kind: CallbackKind, _ spec: CallbackSpec, _ parameters: CallbackParameters, _ events: any DecisionOutlet
    ) async throws(RPCError) -> CallbackReply<JSONValue> {
        let decision = Decision()
        let handle = Handle<Decision>()
        try decisions.keep(decision, as: handle)
        defer {
            decisions.remove(handle)
            // a client that fetches the events of the request alone never takes the event from the inbox
            inbox.sweep()
        }
        let alarm = engine.later(seconds: spec.timeout) {
            decision.settle(
                .failure(
                    RPCError(
                        .callbackTimedOut, "the client did not decide about \(kind.method) within \(spec.timeout) s",
                        data: ["method": .string(kind.method), "timeout": .real(spec.timeout)])))
        }
        defer { alarm.cancel() }
        await events.decision(
            DecisionShape(decision: handle, kind: kind, parameters: parameters), isOpen: { decision.isOpen },
            unreadable: {
                decision.settle(
                    .failure(
                        RPCError(
                            .callbackFailed,
                            "the decision about \(kind.method) is longer than maxMessageBytes allows"
                                + " (raise it with server.hello)")))
            }, also: inbox)
        return try await decision.outcome().get()
    }
}

/// The destination of a request's events.
protocol DecisionOutlet: Sendable {
    /// A new decision: waits in `events.next` of the request and of the connection, and goes to clients that want such
    /// events.
    ///
    /// - Parameters:
    ///   - isOpen: whether the decision is still open.
    ///   - unreadable: called if the event is dropped, because it is too long for the client.
    func decision(
        _ shape: DecisionShape, isOpen: @escaping @Sendable () -> Bool, unreadable: @escaping @Sendable () -> Void,
        also inbox: EventQueue
    ) async
}

/// The rest of the params of `event.decision`.
struct DecisionShape: Sendable {
    var decision: Handle<Decision>
    var kind: CallbackKind
    var parameters: CallbackParameters

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("decision", decision)
        writer.member("kind", kind.rawValue)
        writer.member("params", parameters)
        writer.member("expires", TimeShape(parameters.deadline))
    }
}

extension WallTime {
    func later(by seconds: Double) -> WallTime {
        let whole = seconds.rounded(.down)
        // safe: callback timeouts are at most 600 seconds
        let nanoseconds = self.nanoseconds &+ Int((seconds - whole) * 1e9)
        // safe: the same
        return WallTime(
            seconds: self.seconds &+ Int(whole) &+ nanoseconds / 1_000_000_000,
            nanoseconds: nanoseconds % 1_000_000_000)
    }
}
