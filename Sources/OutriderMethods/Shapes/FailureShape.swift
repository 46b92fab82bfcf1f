// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// A Failure of the contract: why an exchange did not succeed.
struct FailureShape: JSONEncodable {
    var failure: HTTPFailure

    init(_ failure: HTTPFailure) { self.failure = failure }

    func encode(to writer: inout JSONWriter) {
        let code = failure.kind.failureCode
        writer.object { writer in
            writer.member("code", code.code)
            writer.member("kind", code.kind.description)
            writer.member("reason", code.reason?.description)
            writer.member("message", failure.message)
            writer.member("retryable", failure.retryable)
            writer.member("pointer", failure.pointer)
            writer.member("phase", failure.phase?.rawValue)
            guard let underlying = failure.underlying else { return }
            writer.member("underlying") { writer in
                writer.member("domain", underlying.domain.rawValue)
                writer.member("code", underlying.code)
                writer.member("message", underlying.message)
            }
        }
    }
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
        self.init(failure.pointer == nil ? .internalError : .invalidParams, failure.message, data: data)
    }
}
