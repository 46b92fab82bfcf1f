// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// A Failure of the contract: why an exchange did not succeed.
struct FailureShape: ObjectShape {
    var failure: HTTPFailure

    init(_ failure: HTTPFailure) { self.failure = failure }

    func encodeMembers(to writer: inout JSONWriter) {
        let code = failure.kind.failureCode
        writer.member("code", code.code)
        writer.member("kind", code.kind.description)
        writer.member("reason", code.reason?.description)
        writer.member("message", failure.message.printable)
        writer.member("retryable", failure.retryable)
        writer.member("pointer", failure.pointer)
        writer.member("phase", failure.phase?.rawValue)
        if let underlying = failure.underlying {
            writer.member("underlying") { writer in
                writer.member("domain", underlying.domain.rawValue)
                writer.member("code", underlying.code)
                writer.member("message", underlying.message)
            }
        }
        guard !failure.details.isEmpty else { return }
        writer.member("data") { writer in
            for detail in failure.details { Self.encode(detail, to: &writer) }
        }
    }

    private static func encode(_ detail: FailureDetail, to writer: inout JSONWriter) {
        switch detail {
        case .status(let status): writer.member("status", status)
        case .acceptable(let types): writer.member("acceptable", types)
        case .contentType(let type): writer.member("contentType", type)
        case .encoding(let label): writer.member("encoding", label)
        case .path(let path): writer.member("path", Self.shown(path))
        case .instancePointer(let pointer): writer.member("instancePointer", pointer)
        case .proxy(let name): writer.member("proxy", name)
        case .headers(let fields): writer.member("headers", FieldsShape(Redaction.masked.fields(fields)))
        case .cause(let failure): writer.member("cause", FailureShape(failure))
        case .originalError(let failure): writer.member("originalError", FailureShape(failure))
        case .retryError(let error): writer.member("retryError", error)
        case .error(let error): writer.member("error", error)
        case .source(let path): writer.member("source", Self.shown(path))
        case .algorithm(let name): writer.member("algorithm", name)
        case .expected(let text): writer.member("expected", text)
        case .actual(let text): writer.member("actual", text)
        case .needed(let bytes): writer.member("needed", bytes)
        case .available(let bytes): writer.member("available", bytes)
        case .closeCode(let code): writer.member("closeCode", code)
        case .pins(let pins): writer.member("pins", pins)
        case .alert(let name): writer.member("alert", name)
        case .resumeData(let data): writer.member("resumeData", data)
        case .credential(let name): writer.member("credential", name)
        case .oauth(let failure): writer.member("oauth", OAuthFailureShape(failure))
        }
    }
}

extension FailureShape {
    /// Paths within PATH_MAX (4,096 bytes) are shown whole.
    private static func shown(_ path: String) -> String { path.utf8.count < 4096 ? path : path.excerpt }
}

extension RPCError {
    /// For calls that have no Response to put a failure into.
    init(_ failure: HTTPFailure) {
        let code = failure.kind.failureCode
        var data: JSONObject = [:]
        if let pointer = failure.pointer { data["pointer"] = .string(pointer) }
        var inner: JSONObject = ["code": .integer(Int64(code.code)), "kind": .string(code.kind.description)]
        if let reason = code.reason { inner["reason"] = .string(reason.description) }
        data["failure"] = .object(inner)
        var kind = Code.invalidParams
        if failure.pointer == nil {
            // without a parameter at fault, what may succeed later was refused for want of threads or descriptors
            kind = failure.retryable ? .tooMany : .internalError
            if failure.retryable { data["what"] = .string("work") }
        }
        self.init(kind, failure.message, data: data)
    }

    /// The same for a file that the parameter at the pointer names.
    init(_ failure: HTTPFailure, at pointer: String) {
        var failure = failure
        failure.pointer = pointer
        self.init(failure)
    }
}
