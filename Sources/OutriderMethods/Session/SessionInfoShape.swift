// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// The current state of a session: the SessionInfo of the contract. Secrets are masked.
struct SessionInfoShape: ObjectShape {
    private var handle: String
    private var label: String?
    private var isShared: Bool
    private var settings: SessionSettings
    private var timeouts: Timeouts
    private var connectionsPerHost: Int
    private var proxy: ProxyShape
    private var counts: Session.Counts
    private var credentials: [ProtectionSpaces.Entry]

    init(_ record: SessionRecord?, _ scope: ClientScope) {
        let defaults = scope.service.engine.settings
        handle = record?.handle.name ?? SessionReference.defaultName
        label = record.map { $0.label } ?? SessionReference.defaultName
        isShared = record?.isShared ?? false
        settings = record?.settings ?? SessionSettings()
        timeouts = defaults.timeouts
        settings.timeout?.apply(to: &timeouts)
        connectionsPerHost = settings.spec.connectionsPerHost ?? defaults.connectionsPerHost
        proxy = ProxyShape(settings.proxy, defaults)
        credentials = record?.sessionCredentials.entries ?? []
        if let record {
            counts = record.session.counts
        } else {
            counts = Session.Counts()
            counts.requests = SessionRecord.exchanges(nil, scope).count
            counts.running = counts.requests
        }
    }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("session", handle)
        writer.member("name", label)
        writer.member("shared", isShared)
        writer.member("headers", FieldsShape(masked))
        writer.member("timeout") { writer in
            writer.member("resolve", timeouts.resolve)
            writer.member("connect", timeouts.connect)
            writer.member("tls", timeouts.tls)
            writer.member("firstByte", timeouts.firstByte)
            writer.member("idle", timeouts.idle)
            writer.member("total", timeouts.total)
            writer.member("resource", timeouts.resource)
            writer.member("minRate", timeouts.minimumRate)
        }
        writer.member("connectionsPerHost", connectionsPerHost)
        writer.member("proxy", proxy)
        settings.security.encode(to: &writer)
        writer.member("interceptors", settings.shown)
        encodeRedirect(to: &writer)
        writer.member("startImmediately", settings.spec.startsImmediately)
        writer.member("credentials", credentials.map(SessionCredentialShape.init))
        encodeLimits(to: &writer)
        encodeCookies(to: &writer)
        Self.encode(settings.strictTransport, to: &writer)
        writer.member("requests") { writer in
            writer.member("active", counts.requests)
            writer.member("running", counts.running)
            writer.member("waiting", counts.waiting)
        }
    }

    private func encodeRedirect(to writer: inout JSONWriter) {
        var policy = settings.spec.redirect ?? .follow
        policy.callback = nil
        let code = settings.redirectCode?.spec
        if policy == .none { return writer.member("redirect", "none") }
        if policy == .follow, code == nil { return writer.member("redirect", "follow") }
        writer.member("redirect") { writer in
            writer.member("max", policy.limit)
            writer.member("keepHeaders", policy.keepHeaders)
            writer.member("keepBody", policy.keepsBody)
            guard let code else { return }
            writer.member("callback", code.name)
            writer.member("decide", code.way.rawValue)
            writer.member("timeout", code.timeout)
        }
    }

    private func encodeCookies(to writer: inout JSONWriter) {
        guard let cookies = settings.cookies else { return }
        writer.member("cookies") { writer in
            writer.member("jar", cookies.jar.name)
            writer.member("send", cookies.options.sends)
            writer.member("accept", cookies.options.accept.rawValue)
            writer.member("events", cookies.hasEvents)
            writer.member("problem", cookies.jar.storeState?.problem)
        }
    }

    private func encodeLimits(to writer: inout JSONWriter) {
        let limits = settings.spec.limits
        writer.member("limits") { writer in
            writer.member("concurrent", limits.concurrent)
            if let rate = limits.rate {
                writer.member("rate") { writer in
                    writer.member("requests", rate.requests)
                    writer.member("seconds", rate.seconds)
                }
            }
            writer.member("waiting", limits.waiting)
        }
    }

    private var masked: HTTPFields {
        HTTPFields(
            settings.spec.fields.list.map { field in
                SecretFields.contains(field.name) ? HTTPFields.Field(field.name, SecretFields.mask) : field
            })
    }
}
