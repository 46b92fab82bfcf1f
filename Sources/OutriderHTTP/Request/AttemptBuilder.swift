// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// Turns what was asked for into what goes on the wire, refusing what must not.
package enum AttemptBuilder {
    /// The attempt for a spec. Fields of the caller stand first, in the caller's order; then a Content-Type if the body
    /// implies one and the caller gave none; then those of the defaults that the caller did not give.
    ///
    /// Throws `invalidURL`, `unsupportedScheme`, `createURLRequestFailed` (method, fields), `bodyDataInGETRequest`,
    /// `parameterEncoderFailed` or `createUploadableFailed`, each with a pointer to the parameter at fault.
    package static func build(
        _ spec: RequestSpec, defaults: HTTPFields, fileSize: Int64? = nil
    ) throws(HTTPFailure) -> Attempt {
        if let fault = FieldRules.fault(inMethod: spec.method) {
            throw HTTPFailure(.createURLRequestFailed, fault, pointer: "/method")
        }
        var url = try HTTPURL(parsing: spec.url)
        url.append(query: try QueryEncoding().encode(spec.query, at: "/query"))
        try check(spec.fields)
        try checkBody(spec)
        if let label = spec.serialize.encoding, Charset(label: label) == nil {
            throw HTTPFailure(
                .createURLRequestFailed, "the charset \(FieldRules.shown(label)) is not known: use utf-8",
                pointer: "/serialize/encoding")
        }
        var attempt = Attempt(
            method: spec.method, url: url, fields: try fields(of: spec, defaults),
            body: try spec.body.encoded(fileSize: fileSize))
        attempt.timeouts = spec.timeouts
        attempt.trust = spec.trust
        return attempt
    }

    /// Throws at the first field that may not be sent.
    package static func check(_ fields: HTTPFields) throws(HTTPFailure) {
        var total = 0
        for field in fields.list {
            if let fault = FieldRules.fault(inField: field.name, field.value) {
                throw HTTPFailure(.createURLRequestFailed, fault, pointer: pointer(toField: field.name))
            }
            total &+= field.name.utf8.count &+ field.value.utf8.count &+ 4
            if total > maximumHeadBytes {
                throw HTTPFailure(
                    .createURLRequestFailed, "the headers are longer than \(maximumHeadBytes) bytes together",
                    pointer: "/headers")
            }
        }
    }

    /// Servers refuse far less; this only keeps a mistake from becoming traffic.
    private static let maximumHeadBytes = 1 << 20

    private static func pointer(toField name: String) -> String {
        JSONPointer(member: name).under(member: "headers").description
    }

    private static func checkBody(_ spec: RequestSpec) throws(HTTPFailure) {
        guard !spec.body.isNone else { return }
        if spec.method == "GET" || spec.method == "HEAD", !spec.allowGetBody {
            throw HTTPFailure(
                .bodyDataInGETRequest, "a \(spec.method) request carries no body: use POST, or say allowGetBody",
                pointer: "/body")
        }
        if spec.method == "TRACE" {
            throw HTTPFailure(.createURLRequestFailed, "a TRACE request never carries a body", pointer: "/body")
        }
        if let type = spec.body.contentType, FieldRules.fault(inField: "Content-Type", type) != nil {
            throw HTTPFailure(
                .createURLRequestFailed, "contentType holds a line break or control character",
                pointer: "/body/contentType")
        }
    }

    private static func fields(of spec: RequestSpec, _ defaults: HTTPFields) throws(HTTPFailure) -> HTTPFields {
        var fields = spec.fields
        if let type = spec.body.impliedContentType, !fields.contains("Content-Type") {
            fields.add("Content-Type", type)
        }
        // parts of a coded body could not be decoded, so none is offered for a range
        let isRange = fields.contains("Range")
        for field in defaults.list where !fields.contains(field.name) {
            if isRange && HTTPFields.same(field.name, "Accept-Encoding") { continue }
            fields.list.append(field)
        }
        return fields
    }
}
