// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// An HTTP request as given by the caller, not yet checked.
package struct RequestSpec: Sendable {
    package var url: String
    package var method = "GET"
    /// Method and URL for a result if no request can be built from them.
    package var excerpt: (method: String, url: String) { (method.excerpt, url.excerpt) }
    package var fields: HTTPFields = []
    /// Names and values in order, to be appended to the URL's query; names may repeat. See QueryEncoding.
    package var query = JSONObject()
    /// Parameters for the query or the body, depending on their encoding.
    package var parameters: ParameterSpec?
    package var body = BodySpec.none
    /// Becomes the Authorization field, unless that field is set.
    package var authorization: Authorization?
    /// Compress the body.
    package var compression: RequestCompression?
    /// Wait for 100 Continue before sending the body.
    package var expectsContinue = false
    package var timeouts = Timeouts()
    /// Trust, TLS and where to connect, of the session or the service.
    package var security = SecurityPlan.standard
    /// The request's own security settings; nil for none.
    package var ownSecurity: SecurityPlan.Own?
    /// The proxies by URL; nil if not set, which means direct connections.
    package var proxies: ProxyRules?
    /// The addresses to which the request may connect.
    package var addresses = AddressPolicy.any
    package var httpVersion = HTTPVersionChoice.auto
    package var destination = BodyDestination.inline
    /// An inline body of more bytes than this becomes stored. Default 1 MiB.
    package var maxInline = 1 << 20
    package var serialize = SerializeSpec()
    /// Validators, serializers and observers of the response; nil for none.
    package var options: ResponseOptions?
    /// The caller's expected length of the response body, in bytes; for progress without a declared length.
    package var expectedSize: Int64?
    package var metrics = false
    /// Report the certificates of the server.
    package var showsCertificates = false
    /// The caller's own label.
    package var tag: String?
    /// Permit a body in a GET or HEAD request.
    package var allowGetBody = false
    /// Add the default fields, and the Content-Type that the body implies; see `AttemptBuilder`.
    package var addsDefaultFields = true
    /// Undo the Content-Encoding of the response's body.
    package var decodesContent = true
    /// The destination of a download; `destination` is `file` then.
    package var download: DownloadSpec?
    /// For a TCP stream, whose endpoint replaces the URL; nil for HTTP.
    package var duplex: Duplex?
    /// The steps around the sending; nil for none.
    package var shared: SharedPlan?

    package init(url: String) { self.url = url }

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
