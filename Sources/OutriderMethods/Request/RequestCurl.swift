// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Shows a request as a curl command line, secrets masked.
struct RequestCurl: Method {
    static let name = "request.curl"

    struct Result: JSONEncodable {
        var command: String

        func encode(to writer: inout JSONWriter) { writer.object { $0.member("command", command) } }
    }

    static func call(_ params: RequestReference, _ call: Call<ClientScope>) async throws -> Result {
        let record = try call.scope.handles.find(params.request, "request")
        switch record.exchange.request {
        case .success(let attempt): return Result(command: CurlCommand.text(attempt))
        case .failure(let failure):
            throw RPCError(
                .invalidParams, "the request could not be built: \(failure.message)",
                data: ["pointer": .string("/request")])
        }
    }
}
