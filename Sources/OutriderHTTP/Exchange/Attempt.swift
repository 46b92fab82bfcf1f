// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A single sending of a request: the exact content of the wire, after all encoding and adaptation.
///
/// Copies share their storage; a change to a shared attempt copies the storage first.
package struct Attempt: Sendable {
    private var parts: Parts

    package init(method: String, url: HTTPURL, fields: HTTPFields, body: AttemptBody = .none) {
        parts = Parts(Values(method: method, url: url, fields: fields, body: body))
    }

    private struct Values {
        var method: String
        var url: HTTPURL
        var fields: HTTPFields
        var body: AttemptBody
        var plainBodySize: Int64?
        var bodyHolder: (any BodyHolder)?
        var timeouts = Timeouts()
        var security = SecurityPlan.standard
        var httpVersion = HTTPVersionChoice.auto
        var priority = RequestPriority.normal
        var connectionsPerHost = 64
        var sessionConnections: SessionConnections?
        var client = ClientKey.service
        var decodesContent = true
        var allowsGetBody = false
        var maximumBodyBytes: Int?
        var expectsContinue = false
        var proxies: ProxyRules?
        var addresses = AddressPolicy.any
        var proxyAuthorization: ProxyAuthorization?
        var login: AppliedCredential?
        var duplex: Duplex?
        var upgrade: Upgrade?
        var strictFrom: HTTPURL?
    }

    // proof: changed only through `values` of an attempt with the sole reference.
    private final class Parts: @unchecked Sendable {
        var values: Values

        init(_ values: Values) { self.values = values }
    }

    private var values: Values {
        get { parts.values }
        _modify {
            if !isKnownUniquelyReferenced(&parts) { parts = Parts(parts.values) }
            yield &parts.values
        }
    }

    package var method: String {
        get { parts.values.method }
        set { values.method = newValue }
    }
    package var url: HTTPURL {
        get { parts.values.url }
        set { values.url = newValue }
    }
    /// All fields except Host, Content-Length, Transfer-Encoding and Connection, which the transport writes.
    package var fields: HTTPFields {
        get { parts.values.fields }
        set { values.fields = newValue }
    }
    package var body: AttemptBody {
        get { parts.values.body }
        set {
            values.body = newValue
            values.plainBodySize = nil
        }
    }
    /// The length of a body that was compressed before its sending, without the compression; nil for other bodies. A
    /// new body has none.
    package var plainBodySize: Int64? {
        get { parts.values.plainBodySize }
        set { values.plainBodySize = newValue }
    }
    /// Whether the body has a coding of the client, or of the service. A body that is compressed while it is sent has
    /// none yet.
    package var hasCodedBody: Bool {
        if plainBodySize != nil { return true }
        switch body {
        case .none: return false
        case .composed(let body) where body.coding != nil: return false
        case .bytes, .file, .composed: return ContentCoding.layers(fields.all("Content-Encoding"))?.isEmpty == false
        }
    }
    /// Whether the service has compressed the body, or compresses it on its way: Content-Encoding is of the service.
    package var isCompressed: Bool {
        if plainBodySize != nil { return true }
        if case .composed(let body) = body { return body.coding != nil }
        return false
    }
    /// The length of the body before compression; nil if unknown in advance.
    package var plainSize: Int64? { plainBodySize ?? body.plainSize }
    /// What must live as long as a long body: its memory in the budget, or its file. Nil for a short body.
    package var bodyHolder: (any BodyHolder)? {
        get { parts.values.bodyHolder }
        set { values.bodyHolder = newValue }
    }
    package var timeouts: Timeouts {
        get { parts.values.timeouts }
        set { values.timeouts = newValue }
    }
    /// Trust, TLS and connection targets, for every URL of the attempt.
    package var security: SecurityPlan {
        get { parts.values.security }
        set { values.security = newValue }
    }
    /// The HTTP version for the attempt. Default: auto.
    package var httpVersion: HTTPVersionChoice {
        get { parts.values.httpVersion }
        set { values.httpVersion = newValue }
    }
    /// Sent to the server over HTTP/2 (RFC 9218), and the order of writes on a shared connection.
    package var priority: RequestPriority {
        get { parts.values.priority }
        set { values.priority = newValue }
    }
    /// The limit of connections to an origin for all clients together; further attempts wait. Default: 64.
    package var connectionsPerHost: Int {
        get { parts.values.connectionsPerHost }
        set { values.connectionsPerHost = newValue }
    }
    /// The session's own limit of connections; nil without a limit.
    package var sessionConnections: SessionConnections? {
        get { parts.values.sessionConnections }
        set { values.sessionConnections = newValue }
    }
    /// The limit of connections to an origin that applies to this attempt.
    package var mostConnections: Int { sessionConnections?.limit ?? connectionsPerHost }
    /// The user to which the pool counts the connection.
    package var holder: PoolHolder { PoolHolder(client: client, session: sessionConnections) }
    /// The client to which the connection, the name lookup and the file reads are charged.
    package var client: ClientKey {
        get { parts.values.client }
        set { values.client = newValue }
    }
    /// Decode the Content-Encoding, and offer codings in Accept-Encoding unless the caller set that field.
    package var decodesContent: Bool {
        get { parts.values.decodesContent }
        set { values.decodesContent = newValue }
    }
    /// A GET or HEAD may carry a body, also one that an adapter gives or changes.
    package var allowsGetBody: Bool {
        get { parts.values.allowsGetBody }
        set { values.allowsGetBody = newValue }
    }
    /// The most decoded bytes of a response body; a longer body is refused. Nil for no limit.
    package var maximumBodyBytes: Int? {
        get { parts.values.maximumBodyBytes }
        set { values.maximumBodyBytes = newValue }
    }
    /// Send the body only after 100 Continue, or after a while without any response (RFC 9110 section 10.1.1).
    package var expectsContinue: Bool {
        get { parts.values.expectsContinue }
        set { values.expectsContinue = newValue }
    }
    /// The proxies by URL; nil for direct connections.
    package var proxies: ProxyRules? {
        get { parts.values.proxies }
        set { values.proxies = newValue }
    }
    /// The addresses to which the attempt may connect.
    package var addresses: AddressPolicy {
        get { parts.values.addresses }
        set { values.addresses = newValue }
    }
    /// The proxy credentials of this attempt; nil for none.
    package var proxyAuthorization: ProxyAuthorization? {
        get { parts.values.proxyAuthorization }
        set { values.proxyAuthorization = newValue }
    }
    /// The credential for display: of the signature, or for an expected challenge.
    package var login: AppliedCredential? {
        get { parts.values.login }
        set { values.login = newValue }
    }
    /// The TCP stream in place of an HTTP request; nil for HTTP.
    package var duplex: Duplex? {
        get { parts.values.duplex }
        set { values.duplex = newValue }
    }
    /// The original URL, if strict transport security changed the URL to https; nil if unchanged.
    package var strictFrom: HTTPURL? {
        get { parts.values.strictFrom }
        set { values.strictFrom = newValue }
    }
    /// The protocol to switch to after the response; nil for HTTP alone.
    package var upgrade: Upgrade? {
        get { parts.values.upgrade }
        set { values.upgrade = newValue }
    }
}

extension Attempt {
    /// Whether the request logs its connection in (``ConnectionLogin``).
    package var logsIn: Bool {
        fields.list.contains { HTTPFields.same($0.name, "Authorization") && ConnectionLogin.isStep($0.value) }
    }

    /// The sent bytes before compression, and on the wire if these differ: in proportion for a body that was compressed
    /// before its sending.
    package func progress(sent bytes: Int64, onWire: Int64?) -> (plain: Int64, onWire: Int64?) {
        guard let plain = plainBodySize, let size = body.size, size > 0 else { return (bytes, onWire) }
        if bytes >= size { return (plain, bytes) }
        // safe: less than `plain`
        return (Int64(Double(plain) * (Double(max(0, bytes)) / Double(size))), bytes)
    }
}
