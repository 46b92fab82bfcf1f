// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// Builds attempts from request specs, and refuses invalid specs.
package enum AttemptBuilder {
    /// The attempt for a spec. The caller's fields come first, in order; then Authorization from `auth`; then the
    /// body's Content-Type; then the defaults. Of the latter three, only fields that the caller did not set are added.
    ///
    /// Throws `invalidURL`, `unsupportedScheme`, `createURLRequestFailed` (method, fields), `bodyDataInGETRequest`,
    /// `parameterEncodingFailed`, `parameterEncoderFailed`, `createUploadableFailed` or a failure of multipart forms,
    /// each with a pointer to the parameter at fault.
    ///
    /// - Parameters:
    ///   - defaults: each name once.
    ///   - encoded: the parameters, if already encoded.
    package static func build(
        _ spec: RequestSpec, defaults: HTTPFields, fileSize: Int64? = nil, partSizes: [Int: Int64] = [:],
        encoded: EncodedParameters? = nil
    ) throws(HTTPFailure) -> Attempt {
        guard let parameters = spec.parameters else {
            return try build(spec, defaults, fileSize, partSizes, bodyAt: "/body")
        }
        let ready: EncodedParameters
        if let encoded { ready = encoded } else { ready = try encode(parameters, of: spec) }
        switch ready {
        case .nothing: return try build(spec, defaults, fileSize, partSizes, bodyAt: "/body")
        case .query(let text):
            var attempt = try build(spec, defaults, fileSize, partSizes, bodyAt: "/body")
            attempt.url.append(query: text)
            return attempt
        case .body(let bytes, let contentType):
            guard spec.body.isNone else {
                throw HTTPFailure(
                    .createURLRequestFailed,
                    "parameters and body cannot both be the body: send the parameters as queryString",
                    pointer: "/parameters")
            }
            var whole = spec
            // without default fields, a body has the type that the caller names
            whole.body = BodySpec(.bytes(bytes), contentType: spec.addsDefaultFields ? contentType : nil)
            return try build(whole, defaults, fileSize, partSizes, bodyAt: "/parameters")
        }
    }

    private static func encode(
        _ parameters: ParameterSpec, of spec: RequestSpec
    ) throws(HTTPFailure) -> EncodedParameters {
        try EncodedParameters.encode(
            parameters, method: spec.method, hasBody: !spec.body.isNone, at: JSONPointer(member: "parameters"))
    }

    private static func build(
        _ spec: RequestSpec, _ defaults: HTTPFields, _ fileSize: Int64?, _ partSizes: [Int: Int64],
        bodyAt pointer: String
    ) throws(HTTPFailure) -> Attempt {
        let given = try checkHead(spec, bodyAt: pointer)
        let strict = spec.shared?.plan.strictTransport?.upgraded(given)
        let url = strict ?? given
        if let label = spec.serialize.encoding, Charset(label: label) == nil {
            throw HTTPFailure(
                .createURLRequestFailed, "the charset \(FieldRules.shown(label)) is not known: use utf-8",
                pointer: "/serialize/encoding")
        }
        var attempt = Attempt(
            method: spec.method, url: url, fields: try fields(of: spec, defaults),
            body: try spec.body.encoded(fileSize: fileSize, partSizes: partSizes))
        if strict != nil { attempt.strictFrom = given }
        attempt.timeouts = spec.timeouts
        if case .challenge(let credential)? = spec.authorization {
            attempt.login = AppliedCredential(credential, credential.schemes == [.digest] ? .digest : nil)
        }
        if let own = spec.ownSecurity {
            guard own.connectTo == nil || url.socketPath == nil else {
                let text = "the url names a Unix socket, and connectTo another place: leave out connectTo"
                throw HTTPFailure(.createURLRequestFailed, text, pointer: "/connectTo")
            }
            attempt.security = SecurityPlan(own, for: url, over: spec.security)
        } else {
            attempt.security = spec.security
        }
        if let proxies = spec.proxies { attempt.proxies = proxies }
        attempt.addresses = spec.addresses
        if let duplex = spec.duplex { attempt.duplex = duplex }
        attempt.httpVersion = spec.httpVersion
        if let plan = spec.shared?.plan { attempt.priority = plan.priority }
        attempt.maximumBodyBytes = spec.options?.maxBody
        attempt.decodesContent = decodesContent(of: spec)
        if spec.allowGetBody { attempt.allowsGetBody = true }
        // also without a body, where the field must not be sent (RFC 9110 section 10.1.1)
        attempt.takeExpectation()
        if spec.expectsContinue { attempt.expectsContinue = true }
        return attempt
    }

    /// Whether Content-Encoding is undone. Without an Accept-Encoding of its own, a request without default fields
    /// offers no coding; a download neither, because the digest and the rest of a file belong to the bytes that the
    /// server has.
    private static func decodesContent(of spec: RequestSpec) -> Bool {
        let offersCoding = spec.fields.contains("Accept-Encoding") || (spec.addsDefaultFields && spec.download == nil)
        return spec.decodesContent && offersCoding
    }

    /// Checks all that needs no file, and returns the URL with its query: an invalid URL fails before a missing file,
    /// as in Alamofire.
    @discardableResult
    package static func checkHead(_ spec: RequestSpec, bodyAt pointer: String = "/body") throws(HTTPFailure) -> HTTPURL
    {
        if let duplex = spec.duplex { return duplex.endpoint }
        if let fault = FieldRules.fault(inMethod: spec.method) {
            throw HTTPFailure(.createURLRequestFailed, fault, pointer: "/method")
        }
        var url = try HTTPURL(parsing: spec.url)
        if !spec.query.isEmpty { url.append(query: try QueryEncoding().encode(spec.query, at: "/query")) }
        if !spec.fields.list.isEmpty {
            try FieldCheck.check(spec.fields, namesHost: spec.fields.contains("Host") && spec.mayNameHost(at: url))
        }
        try checkBody(spec, at: pointer)
        return url
    }

    private static func checkBody(_ spec: RequestSpec, at pointer: String) throws(HTTPFailure) {
        guard !spec.body.isNone else { return }
        if spec.method == "GET" || spec.method == "HEAD", !spec.allowGetBody {
            throw HTTPFailure(
                .bodyDataInGETRequest, "a \(spec.method) request carries no body: use POST, or say allowGetBody",
                pointer: pointer)
        }
        if spec.method == "TRACE" {
            throw HTTPFailure(.createURLRequestFailed, "a TRACE request never carries a body", pointer: pointer)
        }
        if let type = spec.body.contentType, FieldRules.fault(inField: "Content-Type", type) != nil {
            throw HTTPFailure(
                .createURLRequestFailed, "contentType holds a line break or control character",
                pointer: "/body/contentType")
        }
        if spec.body.ownsContentType, let type = spec.body.contentType {
            let parsed = MediaType(parsing: type)
            guard parsed?.type == "multipart", parsed?[parameter: "boundary"] == nil else {
                throw HTTPFailure(
                    .createURLRequestFailed, "the contentType of a form must be multipart/…, without a boundary",
                    pointer: "/body/contentType")
            }
        }
    }

    private static func fields(of spec: RequestSpec, _ defaults: HTTPFields) throws(HTTPFailure) -> HTTPFields {
        var fields = spec.fields
        if fields.list.isEmpty, spec.authorization == nil, spec.body.isNone, spec.body.contentType == nil,
            spec.download == nil
        {
            return spec.addsDefaultFields ? defaults : fields
        }
        fields.list.reserveCapacity(fields.list.count &+ defaults.list.count &+ 2)
        if !fields.contains("Authorization"), let value = try spec.authorization?.fieldValue() {
            fields.add("Authorization", value)
        }
        let isTypeWanted = spec.addsDefaultFields || spec.body.ownsContentType || spec.body.contentType != nil
        if isTypeWanted, let type = spec.body.impliedContentType {
            if spec.body.ownsContentType { fields.list.removeAll { HTTPFields.same($0.name, "Content-Type") } }
            if !fields.contains("Content-Type") { fields.add("Content-Type", type) }
        }
        // parts of a coded body could not be decoded, so none is offered for a range
        let isRange = fields.contains("Range")
        if spec.download != nil, !fields.contains("Accept-Encoding") { fields.add("Accept-Encoding", "identity") }
        guard spec.addsDefaultFields else { return fields }
        for field in defaults.list where !fields.contains(field.name) {
            if isRange && HTTPFields.same(field.name, "Accept-Encoding") { continue }
            fields.list.append(field)
        }
        return fields
    }
}

extension Attempt {
    /// Takes a field `Expect: 100-continue` of the caller, of an interceptor or of a callback for the expectation: the
    /// transport writes the field, and only with content (RFC 9110 section 10.1.1).
    package mutating func takeExpectation() {
        guard let value = fields.first("Expect"), HTTPFields.same(value, "100-continue") else { return }
        fields.remove("Expect")
        expectsContinue = true
    }
}
