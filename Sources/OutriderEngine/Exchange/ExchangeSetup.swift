// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What takes part in an exchange beside its request.
package struct ExchangeSetup: ~Copyable {
    /// The limits of the client, from `Engine.makeQuota`.
    package let quota: BodyQuota
    /// Whether the outcome stays available with its body.
    package let keepsBody: Bool
    /// Receives the events; nil if no client listens.
    package let observer: (any ExchangeObserver)?
    /// Runs the callbacks; nil if no client takes part.
    package let delegate: (any ExchangeDelegate)?
    /// Admits each attempt; nil for a request outside of all limits of a session.
    package let gate: (any AdmissionGate)?
    /// Takes the body piece by piece; nil to keep the whole body.
    package let outlet: (any BodyOutlet)?
    /// The names of the request for monitors.
    package let identity: ExchangeIdentity
    /// The credentials of the session; nil without a session.
    package let sessionCredentials: SessionCredentials?
    /// Finds and keeps cookies; nil for a request without cookies.
    package let cookies: ExchangeCookies?
    /// Finds and stores responses; nil for a request without a cache.
    package let cache: CacheBinding?
    /// The replay stage before the network; nil for the stage of the engine.
    package let stage: ReplayStage?

    package init(
        quota: BodyQuota, keepsBody: Bool, observer: (any ExchangeObserver)? = nil,
        delegate: (any ExchangeDelegate)? = nil, gate: (any AdmissionGate)? = nil, outlet: (any BodyOutlet)? = nil,
        identity: ExchangeIdentity = ExchangeIdentity(), sessionCredentials: SessionCredentials? = nil,
        cookies: ExchangeCookies? = nil, cache: CacheBinding? = nil, stage: ReplayStage? = nil
    ) {
        self.quota = quota
        self.keepsBody = keepsBody
        self.observer = observer
        self.delegate = delegate
        self.gate = gate
        self.outlet = outlet
        self.identity = identity
        self.sessionCredentials = sessionCredentials
        self.cookies = cookies
        self.cache = cache
        self.stage = stage
    }
}
