// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
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
    /// Whether the call that made the request waits for its end.
    let isOfCall: Bool
    let events: RequestEvents?
    /// Nil for the default session.
    let session: SessionRecord?
    /// Runs callbacks about the response; nil if none are needed.
    let asker: AnswerAsker?
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
        var isForgotten = false
        var expiry: ScheduledWork?
    }
    /// Validates responses; nil without validators.
    let review: AnswerReview?
    /// The parameters for a repetition; nil if impossible.
    let again: RequestParameters?
    /// The stream for the body, if the request chose a stream.
    let bodyStream = Mutex<BodyStream?>(nil)
    /// The final result of the response, if callbacks contribute.
    let concluding = Mutex<Task<Conclusion, Never>?>(nil)

    private init(
        _ params: RequestParameters, _ handle: Handle<RequestRecord>, _ exchange: Exchange, owner: HandleTable,
        giver: MonitorOwner, isOfCall: Bool, events: RequestEvents?, session: SessionRecord?, review: AnswerReview?,
        asker: AnswerAsker?
    ) {
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
        again = isGone || !exchange.hasShortBody ? nil : params
        self.review = review
        self.asker = asker
        serialize = params.spec.serialize
        options = params.spec.options
        tag = params.spec.tag
        showsMetrics = params.spec.metrics
        showsCertificates = params.spec.showsCertificates
        showsHandle = params.showsHandle
        isStreamed = params.isStreamed
    }

    /// Makes the request, not yet started, and keeps the request under its handle. Throws `tooMany` and `clientGone`.
    ///
    /// - Parameters:
    ///   - isOfCall: whether the call waits for the end of the request.
    ///   - eventsNameCall: whether events may come before the reply that names the request; if nil, as `isOfCall`.
    ///   - outlet: takes the body.
    ///   - guide: takes part in the request, before the client's callbacks.
    static func make(
        _ given: consuming RequestParameters, _ call: Call<ClientScope>, isOfCall: Bool, eventsNameCall: Bool? = nil,
        outlet: (any BodyOutlet)? = nil, guide: (any RequestParticipant)? = nil
    ) async throws(RPCError) -> RequestRecord {
        // a long body may be in a file soon: no caller holds on to the parameters
        var params = consume given
        let scope = call.scope
        if params.isDetached, call.peer.info.transport == .stdio {
            throw RPCError(
                .notPermitted, "detach works on a socket only: nothing outlives a service on stdio",
                data: ["pointer": .string("/detach")])
        }
        var prepared = try RequestAssembly(&params, call, opens: false)
        if let name = prepared.unopened {
            await scope.share.caches.prepare(name, in: scope.service.engine.settings.caches)
            prepared = try RequestAssembly(&params, call, opens: true)
        }
        let assembly = prepared
        let asks = assembly.asks
        let handle = Handle<RequestRecord>()
        let events =
            params.events.isEmpty && params.progress.isEmpty && !asks
            ? nil
            : RequestEvents(
                params.events, of: handle.name, call: eventsNameCall ?? isOfCall ? call.id : nil, tag: params.spec.tag,
                peer: call.peer, keeps: params.isDetached || params.events.contains(.pulled),
                isShared: params.isDetached,
                aliases: ProgressAliases(params.progress, method: params.spec.method, url: params.spec.url))
        let engine = scope.service.engine
        let asker = asks ? events.map { assembly.asker(params, call, handle.name, $0, isOfCall: isOfCall) } : nil
        var spec = assembly.spec
        try spec.body.findStreams(in: scope.handles)
        let review = AnswerReview(&spec, asker)
        var advisor: (any ExchangeDelegate)? =
            asker.map { assembly.advisor(params, $0, review) } ?? review.map { ReviewOnly($0) }
        if let guide { advisor = guide.join(&spec.plan, before: advisor) }
        let exchange = await engine.exchange(
            spec, quota: scope.quota, keepsBody: !isOfCall || params.isDetached, observer: events, advisor: advisor,
            gate: assembly.session?.session, outlet: outlet,
            identity: ExchangeIdentity(
                name: handle.name, session: assembly.session?.title, tag: params.spec.tag, owner: scope.owner),
            sessionCredentials: assembly.session?.sessionCredentials,
            cookies: SessionCookies.step(params.cookies, assembly.session?.settings.cookies, url: spec.url),
            cache: assembly.cache, stage: scope.stage(of: assembly.session))
        // the body is counted with the exchange
        call.releaseMessage()
        let owner = params.isDetached ? scope.share.handles : scope.handles
        let record = RequestRecord(
            params, handle, exchange, owner: owner, giver: params.giver ?? scope.owner, isOfCall: isOfCall,
            events: events, session: assembly.session, review: review, asker: asker)
        if params.isDetached, let label = params.label { try record.name(label, in: owner) }
        // a client that cannot learn the handle needs no entry
        if params.showsHandle || !isOfCall || events != nil || params.isDetached {
            do throws(RPCError) {
                try owner.keep(record, as: handle)
            } catch {
                record.unname(in: owner)
                throw error
            }
        }
        if params.isDetached { record.share(with: scope) }
        if !isOfCall || params.isDetached { record.forget(after: engine.settings.keepSeconds, engine) }
        return record
    }

    /// The same without suspension, for a call that waits for a request without events and callbacks; nil if impossible.
    static func makeAtOnce(
        _ params: inout RequestParameters, _ call: Call<ClientScope>
    ) throws(RPCError) -> RequestRecord? {
        guard params.isUnwatched else { return nil }
        let scope = call.scope
        let engine = scope.service.engine
        let (spec, session, cache): (RequestSpec, SessionRecord?, CacheBinding?)
        if params.isOnItsOwn {
            try params.complete(with: engine, inline: call.ownInline)
            (spec, session, cache) = (params.spec, nil, nil)
        } else {
            let assembly = try RequestAssembly(&params, call, opens: false)
            // retriers may want to see the converted body
            if assembly.unopened != nil || assembly.asks || assembly.spec.shared?.plan.retriers.isEmpty == false {
                return nil
            }
            (spec, session, cache) = (assembly.spec, assembly.session, assembly.cache)
        }
        let handle = Handle<RequestRecord>()
        let exchange = engine.exchangeAtOnce(
            spec, quota: scope.quota, gate: session?.session,
            identity: ExchangeIdentity(
                name: handle.name, session: session?.title, tag: params.spec.tag, owner: scope.owner),
            sessionCredentials: session?.sessionCredentials,
            cookies: SessionCookies.step(params.cookies, session?.shared.settings.cookies, url: spec.url), cache: cache,
            stage: scope.stage(of: session))
        guard let exchange else { return nil }
        call.releaseMessage()
        let record = RequestRecord(
            params, handle, exchange, owner: scope.handles, giver: params.giver ?? scope.owner, isOfCall: true,
            events: nil, session: session, review: nil, asker: nil)
        guard params.showsHandle else { return record }
        do throws(RPCError) {
            try scope.handles.keep(record, as: handle)
        } catch {
            // the session lists the request until its end
            exchange.cancel()
            throw error
        }
        return record
    }

    /// Forgets the request that many seconds after its end.
    func forget(after seconds: Double, _ engine: Engine) {
        exchange.whenEnded { [weak self] in
            guard let self, !holding.withLock({ $0.isForgotten }) else { return }
            let expiry = engine.later(seconds: seconds) { [weak self] in
                guard let self else { return }
                owner.remove(handle)
                unname(in: owner)
                exchange.tell(.requestForgotten) { .nothing }
            }
            holding.withLock { $0.expiry = expiry }
        }
    }

    var isDetached: Bool { holding.withLock { $0.isDetached } }

    /// The name by which other connections of the user find the request.
    var label: String? { holding.withLock { $0.label } }

    private var owner: HandleTable { holding.withLock { $0.owner } }

    /// Ends the request, and drops all its kept data.
    func forget() {
        let (owner, kept, expiry) = holding.withLock { holding in
            holding.isForgotten = true
            return (holding.owner, holding.kept, holding.expiry)
        }
        expiry?.cancel()
        exchange.cancel()
        owner.forget(handle.name, of: .request)
        unname(in: owner)
        if let kept {
            owner.forget(kept.handle.name, of: .response)
            kept.close()
        }
        exchange.dropBody()
        exchange.tell(.requestForgotten) { .nothing }
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
