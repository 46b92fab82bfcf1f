// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// A request that carries a body: POST unless it says otherwise.
struct UploadParameters: JSONDecodable {
    var request: RequestParameters

    init(json: JSONValue) throws(JSONComplaint) {
        request = try RequestParameters(json: json)
        if request.spec.body.isNone { throw JSONComplaint("body is required", at: JSONPointer(member: "body")) }
        // null is as good as nothing
        if json.object?["method"]?.string == nil { request.spec.method = "POST" }
    }
}

/// Sends a request with a body, and answers with its response.
struct UploadSend: Method {
    static let name = "upload.send"

    static func call(_ params: UploadParameters, _ call: Call<ClientScope>) async throws -> ResponseReply {
        try await DataSend.call(params.request, call)
    }
}

/// Starts a request with a body, and answers at once with its handle.
struct UploadStart: Method {
    static let name = "upload.start"

    static func call(_ params: UploadParameters, _ call: Call<ClientScope>) async throws -> DataStart.Result {
        try await DataStart.call(params.request, call)
    }
}
