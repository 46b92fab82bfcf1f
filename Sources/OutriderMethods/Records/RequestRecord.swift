// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

/// A request under its handle: the exchange, and what its caller wanted to hear.
final class RequestRecord: Holdable {
    static let kind = HandleKind.request

    let handle: Handle<RequestRecord>
    let exchange: Exchange
    let serialize: SerializeSpec
    /// What else was wanted of the answer; nil for nothing.
    let wishes: ResponseWishes?
    let tag: String?
    let showsMetrics: Bool
    let showsCertificates: Bool
    let showsHandle: Bool
    private let isStreamed: Bool
    /// Whether the call that made it waits for its end.
    let isOfCall: Bool
    let events: RequestEvents?
    /// Nil for the default one.
    let session: SessionRecord?
    /// Asks the client about the answer; nil where it need not be asked.
    let asker: AnswerAsker?
    /// The connection that gave its secrets: no other is shown them.
    let giver: MonitorOwner
    /// The name that it has once it is detached, unless another one is given then.
    let ownLabel: String?
    let holding: Mutex<Holding>

    struct Holding {
        /// Where its kept body goes.
        var owner: HandleTable
        var isDetached: Bool
        /// By which connections of the same user name it while it is detached.
        var label: String?
        var kept: StoredResponse?
        var isForgotten = false
        var expiry: Postponed?
    }
    /// Who looked at its answers; nil for nobody.
    let review: AnswerReview?
    /// For sending it again; nil where that cannot be.
    let again: RequestParameters?
    /// Where its body goes, for a request that says so.
    let bodyStream = Mutex<BodyStream?>(nil)
    /// What becomes of its answer, where the client's own code has a part in that.
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
        // a download is begun again by download.resume, whoever waited for it
        let isGone = (isOfCall && params.spec.download == nil) || params.isStreamed
        again = isGone || !exchange.hasShortBody ? nil : params
        self.review = review
        self.asker = asker
        serialize = params.spec.serialize
        wishes = params.spec.wishes
        tag = params.spec.tag
        showsMetrics = params.spec.metrics
        showsCertificates = params.spec.showsCertificates
        showsHandle = params.showsHandle
        isStreamed = params.isStreamed
    }

    /// Makes the request, not yet started, and puts it under its handle. Throws `tooMany` and `clientGone`.
    ///
    /// - Parameters:
    ///   - isOfCall: whether the call waits for its end.
    ///   - eventsNameCall: whether events may come before the reply that names the request; if nil, as `isOfCall`.
    ///   - outlet: who takes the body.
    ///   - guide: who takes part in it, before the client's own code.
    static func make(
        _ params: RequestParameters, _ call: Call<ClientScope>, isOfCall: Bool, eventsNameCall: Bool? = nil,
        outlet: (any BodyOutlet)? = nil, guide: (any RequestGuide)? = nil
    ) async throws(RPCError) -> RequestRecord {
        let scope = call.scope
        if params.isDetached, call.peer.info.transport == .stdio {
            throw RPCError(
                .notPermitted, "detach works on a socket only: nothing outlives a service on stdio",
                data: ["pointer": .string("/detach")])
        }
        let assembly = try RequestAssembly(params, call)
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
        let asker = asks ? events.map { assembly.asker(params, call, handle.name, $0) } : nil
        var spec = assembly.spec
        try spec.body.findStreams(in: scope.handles)
        let review = AnswerReview(&spec, asker)
        var advisor: (any ExchangeAdvisor)? =
            asker.map { assembly.advisor(params, $0, review) } ?? review.map { ReviewOnly($0) }
        if let guide { advisor = guide.join(&spec.plan, before: advisor) }
        let exchange = await engine.exchange(
            spec, quota: scope.quota, keepsBody: !isOfCall || params.isDetached, observer: events, advisor: advisor,
            turns: assembly.session?.session, outlet: outlet,
            identity: ExchangeIdentity(
                name: handle.name, session: assembly.session?.title, tag: params.spec.tag, owner: scope.owner),
            keeper: assembly.session?.keeper,
            cookies: SessionCookies.step(params.cookies, assembly.session?.settings.cookies, url: spec.url),
            cache: assembly.cache, stage: scope.stage(of: assembly.session))
        let owner = params.isDetached ? scope.share.handles : scope.handles
        let record = RequestRecord(
            params, handle, exchange, owner: owner, giver: params.giver ?? scope.owner, isOfCall: isOfCall,
            events: events, session: assembly.session, review: review, asker: asker)
        if params.isDetached, let label = params.label { try record.name(label, in: owner) }
        // whoever cannot learn the handle needs no entry for it
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

    /// The same at once, for a call that waits for the end of a plain request; nil if it is not plain, or not at once.
    static func makeAtOnce(
        _ params: RequestParameters, _ call: Call<ClientScope>
    ) throws(RPCError) -> RequestRecord? {
        guard params.isPlain else { return nil }
        let scope = call.scope
        let spec = try params.spec(with: scope.service.engine.settings)
        let handle = Handle<RequestRecord>()
        let exchange = scope.service.engine.exchangeAtOnce(
            spec, quota: scope.quota,
            identity: ExchangeIdentity(name: handle.name, tag: params.spec.tag, owner: scope.owner),
            stage: scope.stage(of: nil))
        guard let exchange else { return nil }
        let record = RequestRecord(
            params, handle, exchange, owner: scope.handles, giver: scope.owner, isOfCall: true, events: nil,
            session: nil, review: nil,
            asker: nil)
        if params.showsHandle { try scope.handles.keep(record, as: handle) }
        return record
    }

    /// Once it has ended, its result is kept for so long.
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

    /// The name under which other connections of the user find it.
    var label: String? { holding.withLock { $0.label } }

    private var owner: HandleTable { holding.withLock { $0.owner } }

    /// Ends it, and drops all that is kept of it.
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

    /// The stream that its Response names in place of a body.
    struct BodyStream: Sendable {
        var handle: Handle<ReadStream>
        /// An acceptable head has come: what is behind it is in the stream, though it may be nothing.
        var hasBegun = false
    }

    var isAwaited: Bool { exchange.isAwaited || (isOfCall && exchange.outcome == nil) }

    /// Its events are sent as they come, or its body is.
    var owes: Bool { (events?.isSent == true || isStreamed) && exchange.outcome == nil }

    /// What came of a download stays: its client may come back.
    func close() { exchange.cancel(keepingPartial: true) }

    /// The handle under which the body is kept; made when first asked for. Throws `tooMany` and `clientGone`.
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
    /// Whether what it sends takes little room: none, a file, or a few bytes.
    fileprivate var hasShortBody: Bool {
        guard case .success(let attempt) = request else { return true }
        if case .bytes(let bytes) = attempt.body { return bytes.count <= 16 << 10 }
        return true
    }
}
