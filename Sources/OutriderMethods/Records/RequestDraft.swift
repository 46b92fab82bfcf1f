// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC

/// A complete request before its exchange, with everything that takes part.
///
/// Making the draft and the record needs no suspension; between both the caller makes the request of the exchange.
struct RequestDraft: ~Copyable {
    /// How the method that makes the request uses it.
    struct Use {
        /// Whether the call waits for the end of the request.
        var isOfCall: Bool
        /// Whether events may come before the reply that names the request; if nil, as `isOfCall`.
        var eventsNameCall: Bool?
        /// Takes the body.
        var outlet: (any BodyOutlet)?
        /// Takes part in the request, before the client's callbacks.
        var guide: (any RequestParticipant)?
    }

    private(set) var spec: RequestSpec
    private let handle = Handle<RequestRecord>()
    private let session: SessionRecord?
    private let cache: CacheBinding?
    private let use: Use
    private let events: RequestEvents?
    private let callbacks: ClientResponseCallbacks?
    private let review: ResponseReview?
    private let delegate: (any ExchangeDelegate)?

    /// Throws `unknownHandle` for a stream in the body.
    init(
        _ params: borrowing RequestParameters, _ assembly: borrowing RequestAssembly, _ call: Call<ClientScope>,
        _ use: Use
    ) throws(RPCError) {
        self.use = use
        (session, cache) = (assembly.session, assembly.cache)
        let callsClient = assembly.callsClient
        let events = callsClient || params.isHeard ? RequestEvents.make(params, of: handle, call, use) : nil
        var callbacks: ClientResponseCallbacks?
        if callsClient, let events {
            callbacks = assembly.callbacks(params, call, handle.name, events, isOfCall: use.isOfCall)
        }
        var spec = assembly.spec
        // changing a spec copies it
        if !spec.body.isAtHand { try spec.body.findStreams(in: call.scope.handles) }
        var review: ResponseReview?
        if ResponseReview.mayReview(spec, callbacks) {
            review = ResponseReview(&spec, callbacks, isOfCall: use.isOfCall)
        }
        var delegate: (any ExchangeDelegate)?
        if let callbacks {
            delegate = assembly.delegate(params, callbacks, review)
        } else if let review {
            delegate = ReviewOnly(review)
        }
        if let guide = use.guide {
            guide.join(&spec.plan, before: delegate)
            delegate = guide
        }
        (self.spec, self.events, self.callbacks, self.review, self.delegate) = (
            spec, events, callbacks, review, delegate
        )
    }

    /// Makes the request's exchange, not yet started, and keeps the record under its handle. Throws `tooMany` and
    /// `clientGone`.
    func record(
        _ request: Result<Attempt, HTTPFailure>, _ params: RequestParameters, _ call: Call<ClientScope>
    ) throws(RPCError) -> RequestRecord {
        let scope = call.scope
        let isPlain = params.places == nil && !params.listsHeaders
        let request = isPlain ? request : request.mapError(params.placed)
        let memory = try call.kept(spec, request)
        let exchange = scope.service.engine.exchange(spec, request, setup(params, scope))
        // the body is counted with the exchange
        call.releaseMessage()
        let owner = params.isDetached ? scope.share.handles : scope.handles
        let record = RequestRecord(
            params, handle, exchange, owner: owner, giver: params.giver ?? scope.owner, isOfCall: use.isOfCall,
            events: events, session: session, review: review, callbacks: callbacks,
            memory: memory)
        do throws(RPCError) {
            if params.isDetached, let label = params.label { try record.name(label, in: owner) }
            // a client that cannot learn the handle needs no entry
            if params.showsHandle || !use.isOfCall || events != nil || params.isDetached {
                try owner.keep(record, as: handle)
            }
        } catch {
            record.unname(in: owner)
            // no reply names the request
            events?.silence()
            // the session lists the request until its end
            exchange.cancel()
            throw error
        }
        if params.isDetached { record.share(with: scope) }
        let engine = scope.service.engine
        if !use.isOfCall || params.isDetached { record.forgetLater(engine) }
        return record
    }

    private func setup(_ params: RequestParameters, _ scope: ClientScope) -> ExchangeSetup {
        ExchangeSetup(
            quota: scope.quota, keepsBody: !use.isOfCall || params.isDetached, observer: events, delegate: delegate,
            gate: session?.session, outlet: use.outlet,
            identity: ExchangeIdentity(
                name: handle.name, session: session?.title, tag: params.spec.tag, owner: scope.owner),
            sessionCredentials: session?.sessionCredentials,
            cookies: SessionCookies.step(
                params.cookies, session?.settings.cookies, url: spec.download?.options.journal?.home ?? spec.url),
            cache: cache,
            stage: scope.stage(of: session))
    }
}

extension RequestRecord {
    /// Makes the request, not yet started, and keeps the request under its handle. Throws `tooMany` and `clientGone`.
    static func make(
        _ given: consuming RequestParameters, _ call: Call<ClientScope>, _ use: RequestDraft.Use
    ) async throws(RPCError) -> RequestRecord {
        // a long body may be in a file soon: no caller holds on to the parameters
        var params = consume given
        let scope = call.scope
        if params.isDetached, call.peer.info.transport == .stdio {
            throw RPCError(
                .notPermitted, "detach works on a socket only: nothing outlives a service on stdio",
                data: ["pointer": .string("/detach")])
        }
        let engine = scope.service.engine
        var assembly = try RequestAssembly(&params, call, opens: false)
        if let name = assembly.unopened {
            await scope.share.caches.prepare(name, in: engine.settings.caches)
            assembly = try RequestAssembly(&params, call, opens: true)
        }
        let draft = try RequestDraft(params, assembly, call, use)
        let request = await engine.request(for: draft.spec, quota: scope.quota)
        return try draft.record(request, params, call)
    }

    /// The same without suspension, for a call that waits for a request without events and callbacks; nil if a cache
    /// has to be opened, or a file looked up or written first.
    static func makeInline(
        _ params: inout RequestParameters, _ call: Call<ClientScope>
    ) throws(RPCError) -> RequestRecord? {
        guard params.isUnwatched else { return nil }
        let scope = call.scope
        let assembly = try RequestAssembly(&params, call, opens: false)
        // retriers may want to see the converted body
        if assembly.unopened != nil || assembly.callsClient || assembly.spec.shared?.plan.retriers.isEmpty == false {
            return nil
        }
        let draft = try RequestDraft(params, assembly, call, RequestDraft.Use(isOfCall: true))
        guard let request = scope.service.engine.requestAtHand(for: draft.spec, quota: scope.quota) else { return nil }
        return try draft.record(request, params, call)
    }
}

extension RequestEvents {
    fileprivate static func make(
        _ params: RequestParameters, of handle: Handle<RequestRecord>, _ call: Call<ClientScope>,
        _ use: RequestDraft.Use
    ) -> RequestEvents {
        RequestEvents(
            params.events, of: handle.name, call: use.eventsNameCall ?? use.isOfCall ? call.id : nil,
            tag: params.spec.tag, peer: call.peer, quota: call.scope.quota,
            keeps: params.isDetached || params.events.contains(.pulled), isShared: params.isDetached,
            aliases: ProgressAliases(params.progress, method: params.spec.method, url: params.spec.url))
    }
}

extension RequestParameters {
    /// Whether the client wants events.
    fileprivate var isHeard: Bool { !events.isEmpty || !progress.isEmpty }
}
