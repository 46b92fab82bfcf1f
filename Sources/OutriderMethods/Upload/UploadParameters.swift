// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// A request with a body; the default method is POST.
struct UploadParameters: LongParams {
    var request: RequestParameters

    init(json: JSONValue) throws(JSONComplaint) {
        request = try RequestParameters(json: json)
        if request.spec.body.isNone { throw JSONComplaint("body is required", at: JSONPointer(member: "body")) }
        // null is as good as nothing
        if json.object?["method"]?.string == nil { request.spec.method = "POST" }
    }
}
