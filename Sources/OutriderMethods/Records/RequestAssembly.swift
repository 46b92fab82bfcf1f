// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC

/// A complete request: the client's parameters, with the additions of its session and its interceptors.
struct RequestAssembly {
    var spec: RequestSpec
    var session: SessionRecord?
    /// Nil for a request without a cache.
    var cache: CacheBinding?
    /// The named cache that has to be opened first; nil for none.
    var unopened: String?
    /// The client callbacks that the interceptors name.
    var registry = ClientDelegate.CallbackRegistry()

    /// Throws `unknownHandle` for a session or an interceptor, `invalidParams` for an invalid environment.
    ///
    /// - Parameters:
    ///   - params: completed in place, so that the request is not copied.
    ///   - opens: open the named cache, which blocks for a moment; otherwise `unopened` gets its name.
    init(_ params: inout RequestParameters, _ call: Call<ClientScope>, opens: Bool) throws(RPCError) {
        session = try params.session?.resolved(call.scope)
        let shared = session?.shared
        let engine = call.scope.service.engine
        try params.complete(with: engine, inline: call.ownInline, shared?.settings.timeout)
        spec = params.spec
        if params.addresses == nil, let addresses = shared?.settings.addresses { spec.addresses = addresses.policy }
        if params.httpVersion == nil, let version = shared?.settings.httpVersion { spec.httpVersion = version.choice }
        if params.proxy == nil, let proxy = shared?.settings.proxy {
            spec.proxies = try proxy.rules(with: engine.settings)
        }
        if let plan = shared?.settings.plan { spec.security = plan }
        if let own = spec.ownSecurity, own.callsClient {
            spec.ownSecurity = own.bound(to: call.scope.securityCallbacks(call))
        }
        if params.cache != nil || shared?.settings.cache != nil {
            addCache(params, call, opens: opens)
        }
        let encoder = spec.parameters?.encoder
        let namesType = encoder != nil && spec.fields.contains("Content-Type")
        if let shared, !shared.settings.spec.fields.list.isEmpty {
            addFields(shared.settings.spec.fields, hasCredential: params.credential != nil)
        }
        guard shared?.plans == true || params.adds || encoder != nil else { return }
        let settings = shared?.settings
        var plan = spec.plan
        let own = plan
        plan.adaptations = []
        plan.retriers = []
        plan.sessionConnections = session?.connections(settings)
        plan.priority = params.priority ?? .normal
        plan.startsImmediately = params.startsImmediately ?? settings?.spec.startsImmediately ?? true
        if let redirect = settings?.spec.redirect, params.codes?.saysRedirect != true {
            plan.redirect = redirect
            if let code = settings?.redirectCode { plan.redirect.callback = registry.add(code) }
        }
        if let code = settings?.challengeCode, params.codes?.challenge == nil { plan.challenge = registry.add(code) }
        plan.strictTransport = settings?.strictTransport
        settings?.interceptor.add(to: &plan, &registry)
        if !params.interceptors.isEmpty { try params.interceptors.resolved(call).add(to: &plan, &registry) }
        if let name = params.credential {
            try name.checkOwner(call, at: "/auth/oauth")
            let credential = name.text
            plan.adaptations.append(.oauth(credential, isRequired: true))
            plan.retriers.append(.oauth(credential))
        }
        plan.adaptations += own.adaptations
        plan.retriers += own.retriers
        if let codes = params.codes { name(codes, in: &plan, call) }
        if let encoder, let parameters = spec.parameters {
            let code = ClientDelegate.Code(
                spec: encoder, runner: CallbackRunner(call), parameters: parameters.value, keepsType: namesType)
            plan.adaptations.insert(.callback(registry.add(code)), at: 0)
            spec.parameters = nil
        }
        // adapters change requests, and a TCP stream has none
        if spec.duplex != nil { plan.adaptations = [] }
        spec.plan = plan
    }

    /// Whether the request may need callbacks.
    var callsClient: Bool {
        !registry.isEmpty || spec.shared?.plan.judgesHead == true || spec.serialize.callsClient
            || spec.options?.validation?.callsClient == true
            || spec.options?.handlers.contains { $0.callsClient } == true
    }

    /// The caller of the client's callbacks about the request of that handle.
    func callbacks(
        _ params: RequestParameters, _ call: Call<ClientScope>, _ handle: String, _ events: any DecisionOutlet,
        isOfCall: Bool
    ) -> ClientResponseCallbacks {
        let names = CallbackSubject(
            callback: "", request: handle, session: session?.title, tag: params.spec.tag,
            attempt: 1)
        return ClientResponseCallbacks(CallbackRunner(call), names, events, mayExceed: isOfCall && !params.isDetached)
    }

    func delegate(_ params: RequestParameters, _ callbacks: ClientResponseCallbacks, _ review: ResponseReview?)
        -> ClientDelegate
    {
        ClientDelegate(registry, callbacks, review, disposition: params.codes?.disposition)
    }

    private mutating func addFields(_ fields: HTTPFields, hasCredential: Bool) {
        if fields.list.isEmpty { return }
        // a name of the session may have several values
        let own = FieldNames(of: spec.fields)
        var added: [HTTPFields.Field] = []
        for field in fields.list where !own.contains(field.name) {
            // `auth` of the request sets the same field
            if spec.authorization != nil || hasCredential, HTTPFields.same(field.name, "Authorization") { continue }
            if HTTPFields.same(field.name, "Content-Type"), spec.ownsType(before: field.value) { continue }
            added.append(field)
        }
        spec.fields.list += added
    }

    /// The request's own callbacks get keys of their own, with their own options and timeout.
    private mutating func name(_ codes: RequestCodes, in plan: inout ExchangePlan, _ call: Call<ClientScope>) {
        let runner = CallbackRunner(call)
        if let redirect = codes.redirect {
            plan.redirect.callback = registry.add(ClientDelegate.Code(spec: redirect, runner: runner))
        }
        if let destination = codes.destination, var options = spec.download?.options {
            options.destinationCode = registry.add(ClientDelegate.Code(spec: destination, runner: runner))
            spec.download = DownloadSpec(options)
        }
        if let challenge = codes.challenge {
            let prompt = call.scope.prompts.prompt(of: challenge.name, session: session?.title)
            plan.challenge = registry.add(ClientDelegate.Code(spec: challenge, runner: runner, prompt: prompt))
        }
        guard let retry = codes.retry else { return }
        let key = registry.add(ClientDelegate.Code(spec: retry, runner: runner))
        plan.retriers = plan.retriers.map { $0 == .callback(retry.name) ? .callback(key) : $0 }
    }
}

extension RequestParameters {
    /// Whether sessions, interceptors or callbacks add to the plain plan.
    var adds: Bool {
        !interceptors.isEmpty || credential != nil || priority != nil || startsImmediately == false
            || codes?.addsToPlan == true
    }
}
