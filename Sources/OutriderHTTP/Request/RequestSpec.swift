// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// An HTTP request as given by the caller, not yet checked.
///
/// Copies share their storage; a change to a shared spec copies the storage first.
package struct RequestSpec: Sendable {
    private struct Values {
        var url: String
        var method: String = "GET"
        var fields: HTTPFields = []
        var query: JSONObject = JSONObject()
        var parameters: ParameterSpec?
        var body: BodySpec = BodySpec.none
        var authorization: Authorization?
        var compression: RequestCompression?
        var expectsContinue: Bool = false
        var timeouts: Timeouts = Timeouts()
        var security: SecurityPlan = SecurityPlan.standard
        var ownSecurity: SecurityPlan.Own?
        var proxies: ProxyRules?
        var addresses: AddressPolicy = AddressPolicy.any
        var httpVersion: HTTPVersionChoice = HTTPVersionChoice.auto
        var destination: BodyDestination = BodyDestination.inline
        var maxInline: Int = 1 << 20
        var serialize: SerializeSpec = SerializeSpec()
        var options: ResponseOptions?
        var expectedSize: Int64?
        var metrics: Bool = false
        var showsCertificates: Bool = false
        var tag: String?
        var allowGetBody: Bool = false
        var addsDefaultFields: Bool = true
        var decodesContent: Bool = true
        var download: DownloadSpec?
        var duplex: Duplex?
        var shared: SharedPlan?
    }

    // proof: changed only through `values` of a spec with the sole reference.
    private final class Parts: @unchecked Sendable {
        var values: Values

        init(_ values: Values) { self.values = values }
    }

    private var parts: Parts

    private var values: Values {
        get { parts.values }
        _modify {
            if !isKnownUniquelyReferenced(&parts) { parts = Parts(parts.values) }
            yield &parts.values
        }
    }

    package init(url: String) { parts = Parts(Values(url: url)) }

    package var url: String {
        get { parts.values.url }
        set { values.url = newValue }
    }
    package var method: String {
        get { parts.values.method }
        set { values.method = newValue }
    }
    package var fields: HTTPFields {
        get { parts.values.fields }
        set { values.fields = newValue }
    }
    /// Names and values in order, to be appended to the URL's query; names may repeat. See QueryEncoding.
    package var query: JSONObject {
        get { parts.values.query }
        set { values.query = newValue }
    }
    /// Parameters for the query or the body, depending on their encoding.
    package var parameters: ParameterSpec? {
        get { parts.values.parameters }
        set { values.parameters = newValue }
    }
    package var body: BodySpec {
        get { parts.values.body }
        set { values.body = newValue }
    }
    /// Becomes the Authorization field, unless that field is set.
    package var authorization: Authorization? {
        get { parts.values.authorization }
        set { values.authorization = newValue }
    }
    /// Compress the body.
    package var compression: RequestCompression? {
        get { parts.values.compression }
        set { values.compression = newValue }
    }
    /// Wait for 100 Continue before sending the body.
    package var expectsContinue: Bool {
        get { parts.values.expectsContinue }
        set { values.expectsContinue = newValue }
    }
    package var timeouts: Timeouts {
        get { parts.values.timeouts }
        set { values.timeouts = newValue }
    }
    /// Trust, TLS and where to connect, of the session or the service.
    package var security: SecurityPlan {
        get { parts.values.security }
        set { values.security = newValue }
    }
    /// The request's own security settings; nil for none.
    package var ownSecurity: SecurityPlan.Own? {
        get { parts.values.ownSecurity }
        set { values.ownSecurity = newValue }
    }
    /// The proxies by URL; nil if not set, which means direct connections.
    package var proxies: ProxyRules? {
        get { parts.values.proxies }
        set { values.proxies = newValue }
    }
    /// The addresses to which the request may connect.
    package var addresses: AddressPolicy {
        get { parts.values.addresses }
        set { values.addresses = newValue }
    }
    package var httpVersion: HTTPVersionChoice {
        get { parts.values.httpVersion }
        set { values.httpVersion = newValue }
    }
    package var destination: BodyDestination {
        get { parts.values.destination }
        set { values.destination = newValue }
    }
    /// An inline body of more bytes than this becomes stored. Default 1 MiB.
    package var maxInline: Int {
        get { parts.values.maxInline }
        set { values.maxInline = newValue }
    }
    package var serialize: SerializeSpec {
        get { parts.values.serialize }
        set { values.serialize = newValue }
    }
    /// Validators, serializers and observers of the response; nil for none.
    package var options: ResponseOptions? {
        get { parts.values.options }
        set { values.options = newValue }
    }
    /// The caller's expected length of the response body, in bytes; for progress without a declared length.
    package var expectedSize: Int64? {
        get { parts.values.expectedSize }
        set { values.expectedSize = newValue }
    }
    package var metrics: Bool {
        get { parts.values.metrics }
        set { values.metrics = newValue }
    }
    /// Report the certificates of the server.
    package var showsCertificates: Bool {
        get { parts.values.showsCertificates }
        set { values.showsCertificates = newValue }
    }
    /// The caller's own label.
    package var tag: String? {
        get { parts.values.tag }
        set { values.tag = newValue }
    }
    /// Permit a body in a GET or HEAD request.
    package var allowGetBody: Bool {
        get { parts.values.allowGetBody }
        set { values.allowGetBody = newValue }
    }
    /// Add the default fields, and the Content-Type that the body implies; see `AttemptBuilder`.
    package var addsDefaultFields: Bool {
        get { parts.values.addsDefaultFields }
        set { values.addsDefaultFields = newValue }
    }
    /// Undo the Content-Encoding of the response's body.
    package var decodesContent: Bool {
        get { parts.values.decodesContent }
        set { values.decodesContent = newValue }
    }
    /// The destination of a download; `destination` is `file` then.
    package var download: DownloadSpec? {
        get { parts.values.download }
        set { values.download = newValue }
    }
    /// For a TCP stream, whose endpoint replaces the URL; nil for HTTP.
    package var duplex: Duplex? {
        get { parts.values.duplex }
        set { values.duplex = newValue }
    }
    /// The steps around the sending; nil for none.
    package var shared: SharedPlan? {
        get { parts.values.shared }
        set { values.shared = newValue }
    }
    /// Method and URL for a result if no request can be built from them.
    package var excerpt: (method: String, url: String) { (method.excerpt, url.excerpt) }

    /// The number of the fields, and the bytes of their names and values.
    package var fieldSizes: (count: Int, text: Int) {
        var text = 0
        for field in parts.values.fields.list { text &+= field.name.utf8.count &+ field.value.utf8.count }
        return (parts.values.fields.list.count, text)
    }

    /// The plan, for reading and changing.
    package var plan: ExchangePlan {
        get { shared?.plan ?? ExchangePlan() }
        set { shared = SharedPlan(newValue) }
    }
}

/// The destination of a response body.
package enum BodyDestination: Sendable {
    case inline, stored, file, discard
}
