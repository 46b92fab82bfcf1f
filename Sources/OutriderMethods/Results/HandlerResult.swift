// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// The result of a single handler of a request.
struct HandlerResult: ObjectShape, Sendable {
    var id: String
    var body: ResponseBodyShape?
    var failure: HTTPFailure?

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("ok", failure == nil)
        writer.member("body", body)
        if let failure { writer.member("error", FailureShape(failure)) }
    }
}
