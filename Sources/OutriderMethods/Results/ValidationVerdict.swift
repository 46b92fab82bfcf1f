// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Whether a response is acceptable, and if not, why.
struct ValidationVerdict: ObjectShape {
    var failure: HTTPFailure?

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("valid", failure == nil)
        if let failure { writer.member("error", FailureShape(failure)) }
    }
}
