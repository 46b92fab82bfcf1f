// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC
import Synchronization

/// A request under its handle: the exchange, and the caller's options for the reply and events.
final class RequestRecord: Holdable {
    static let kind = HandleKind.request

    let handle: Handle<RequestRecord>
    let exchange: Exchange
    let serialize: SerializeSpec
    /// Further options for the response; nil if none.
    let options: ResponseOptions?
    let tag: String?
    let showsMetrics: Bool
    let showsCertificates: Bool
    let showsHandle: Bool
    private let isStreamed: Bool
    /// The memory of a request that is not short.
    private let memory: MemoryCharge?
    /// Whether the call that made the request waits for its end.
    let isOfCall: Bool
    let events: RequestEvents?
    /// Nil for the default session.
    let session: SessionRecord?
    /// Runs callbacks about the response; nil if none are needed.
    let callbacks: ClientResponseCallbacks?
    /// The connection that gave the request's secrets; no other connection sees them.
    let giver: MonitorOwner
    /// The name for a detached request, unless `request.detach` gives another.
    let ownLabel: String?
    let holding: Mutex<Holding>

    struct Holding {
        /// The table for the kept body.
        var owner: HandleTable
        var isDetached: Bool
        /// The name of the detached request for connections of the same user.
        var label: String?
        var kept: StoredResponse?
        /// Whether another call has the Response.
        var isAwaited = false
        var isForgotten = false
        /// The end of the time for which the ended request stays.
        var expiry: Expiry?
    }
    /// Validates responses; nil without validators.
    let review: ResponseReview?
    /// The parameters for a repetition; nil if impossible.
    let again: RequestParameters?
    /// The stream for the body, if the request chose a stream.
    let bodyStream = Mutex<BodyStream?>(nil)
    /// The streams that carry what the request gets, and their table.
    let streams = Mutex<(table: HandleTable, handles: [Handle<ReadStream>])?>(nil)
    /// The final result of the response, if callbacks contribute.
    let concluding = Mutex<Task<Conclusion, Never>?>(nil)

    init(
        _ params: borrowing RequestParameters, _ handle: Handle<RequestRecord>, _ exchange: Exchange,
        owner: HandleTable,
        giver: MonitorOwner, isOfCall: Bool, events: RequestEvents?, session: SessionRecord?, review: ResponseReview?,
        callbacks: ClientResponseCallbacks?, memory: MemoryCharge?
    ) {
        self.memory = memory
        self.session = session
        self.handle = handle
        self.giver = giver
        ownLabel = params.label
        self.exchange = exchange
        holding = Mutex(Holding(owner: owner, isDetached: params.isDetached))
        self.isOfCall = isOfCall
        self.events = events
        // download.resume repeats a download, even for a request of a waiting call
        let isGone = (isOfCall && params.spec.download == nil) || params.isStreamed
        again = isGone || !exchange.hasShortBody ? nil : copy params
        self.review = review
        self.callbacks = callbacks
        serialize = params.spec.serialize
        options = params.spec.options
        tag = params.spec.tag
        showsMetrics = params.spec.metrics
        showsCertificates = params.spec.showsCertificates
        showsHandle = params.showsHandle
        isStreamed = params.isStreamed
    }

    /// Forgets the request some time after its end.
    func forgetLater(_ engine: Engine) {
        exchange.whenEnded { [weak self] in
            guard let self, !holding.withLock({ $0.isForgotten }) else { return }
            let expiry = engine.expiries.add { [weak self] in
                guard let self else { return }
                owner.remove(handle)
                unname(in: owner)
                exchange.tell(.requestForgotten) { .nothing }
            }
            holding.withLock { $0.expiry = expiry }
        }
    }

    /// The counted bytes of a request that is not short.
    var memoryBytes: Int { memory?.bytes ?? 0 }

    var isDetached: Bool { holding.withLock { $0.isDetached } }

    /// The name by which other connections of the user find the request.
    var label: String? { holding.withLock { $0.label } }

    private var owner: HandleTable { holding.withLock { $0.owner } }

    /// Ends the request, and drops all its kept data.
    func forget() {
        let owner = holding.withLock { holding in
            holding.isForgotten = true
            holding.expiry = nil
            return holding.owner
        }
        exchange.cancel()
        owner.forget(handle.name, of: .request)
        unname(in: owner)
        dropBody()
        exchange.tell(.requestForgotten) { .nothing }
    }

    /// Ends the request of a call that is refused. No reply names the request, and so no event does.
    func refuse() {
        events?.silence()
        forget()
    }

    /// Ends the request of a call that gets no result, and its streams. No event follows.
    func abandon(_ hub: StreamFanout? = nil) async {
        await events?.cutShort()
        hub?.discard()
        forget()
    }

    /// Deletes the body, which no client may read any more.
    func dropBody() {
        let (owner, kept) = holding.withLock { ($0.owner, $0.kept) }
        if let kept {
            owner.forget(kept.handle.name, of: .response)
            kept.close()
        }
        exchange.dropBody()
    }

    /// The stream that the request's Response names in place of a body.
    struct BodyStream: Sendable {
        var handle: Handle<ReadStream>
        /// An acceptable head has arrived: the stream carries its body, even if empty.
        var hasBegun = false
    }

    var isAwaited: Bool { exchange.isAwaited || (isOfCall && exchange.outcome == nil) }

    /// Whether the client gets events or a stream until the end.
    var owes: Bool { (events?.isSent == true || isStreamed) && exchange.outcome == nil }

    /// Ends a request that no client can resume any more.
    func inputEnded() {
        if exchange.needsResume, !isDetached, session?.isShared != true { close() }
    }

    /// Keeps the partial file of a download: the client may return.
    func close() { exchange.cancel(keepingPartial: true) }

    /// The handle of the kept body, made on first use. Throws `tooMany` and `clientGone`.
    func stored(_ body: KeptBody, _ outcome: ExchangeOutcome, in engine: Engine) throws(RPCError) -> StoredResponse {
        let (stored, owner) = holding.withLock { holding -> (StoredResponse, HandleTable?) in
            if let kept = holding.kept { return (kept, nil) }
            let fresh = StoredResponse(body, facts(outcome))
            holding.kept = fresh
            return (fresh, holding.owner)
        }
        if let owner {
            try stored.keep(in: owner, engine)
            exchange.tell(.responseStored) { .handle(stored.handle.name, size: body.size) }
        }
        return stored
    }
}

extension Exchange {
    /// Whether the request body takes little memory: none, a file, or at most 16 KiB.
    fileprivate var hasShortBody: Bool {
        guard case .success(let attempt) = request else { return true }
        // the budget counts the body, or a file has it
        if attempt.bodyHolder != nil { return false }
        if case .bytes(let bytes) = attempt.body { return bytes.count <= 16 << 10 }
        return true
    }
}
