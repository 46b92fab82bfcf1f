// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Whether a response is acceptable, and if not, why.
struct ValidationVerdict: JSONEncodable {
    var failure: HTTPFailure?

    func encode(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("valid", failure == nil)
            if let failure { writer.member("error", FailureShape(failure)) }
        }
    }
}
