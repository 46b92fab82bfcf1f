// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

extension RequestRecord {
    /// The facts that validation rules examine.
    func facts(_ outcome: ExchangeOutcome) -> ResponseFacts {
        let head = outcome.isConfirmation ? nil : outcome.head
        var facts = ResponseFacts(method: outcome.method, url: outcome.url, status: head?.status)
        if let head { facts.fields = head.fields }
        if case .success(let attempt) = exchange.shownRequest {
            let accept = attempt.fields.all("Accept")
            if !accept.isEmpty { facts.accept = accept }
        }
        return facts
    }

    /// The final result of the response. Runs the client's callbacks once, however often the result is needed.
    func conclusion(_ outcome: ExchangeOutcome) async -> Conclusion {
        let handlers = options?.handlers ?? []
        guard serialize.callsClient || handlers.contains(where: \.callsClient) else { return await conclude(outcome) }
        let task = concluding.withLock { task in
            if let task { return task }
            let fresh = Task {
                var conclusion = await self.conclude(outcome)
                if outcome.failure == nil, Task.isCancelled {
                    conclusion.failure = HTTPFailure(.explicitlyCancelled, "the request was cancelled")
                }
                return conclusion
            }
            task = fresh
            exchange.whenCancelledLate { fresh.cancel() }
            return fresh
        }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            if isOfCall { task.cancel() }
        }
    }

    private func conclude(_ outcome: ExchangeOutcome) async -> Conclusion {
        callbacks?.turn(to: outcome.attempts)
        let work = ResponseWork(facts: facts(outcome), callbacks: callbacks)
        // a handler does not share the failure of the body's own shape
        let failure = review?.isOfShape(outcome.failure) == true ? nil : outcome.failure
        // reuse the result of the review, without further callbacks
        var conclusion = await Conclusion.make(
            outcome, exchange.destination, serialize, options?.handlers ?? [], work, failure: failure,
            made: review?.takeBody(outcome.failure))
        conclusion.failure = outcome.failure ?? conclusion.failure
        return conclusion
    }

    /// A copy of the request, not yet started, without events and without a name.
    func repeated(_ call: Call<ClientScope>) async throws(RPCError) -> RequestRecord {
        guard var again else {
            throw RPCError(
                .wrongState, "the request cannot be sent again: only data.start keeps it, and bodies of at most 16 KiB",
                data: ["pointer": .string("/reperform"), "state": .string("unkept")])
        }
        guard isGiven(by: call.scope) else {
            throw RPCError(
                .notPermitted, "a request is sent again only for the connection that made it, with its secrets",
                data: ["pointer": .string("/reperform")])
        }
        again.events = []
        // a name stays with the first request
        again.label = nil
        return try await RequestRecord.make(again, call, RequestDraft.Use(isOfCall: false))
    }
}
