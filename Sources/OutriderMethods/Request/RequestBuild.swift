// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Shows the request that would be sent, without sending it.
struct RequestBuild: Method {
    static let name = "request.build"

    struct Result: JSONEncodable {
        var attempt: Attempt
        var bodyKind: String?

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("method", attempt.method)
                writer.member("url", attempt.url.description)
                writer.member("headers", FieldsShape(wireFields))
                if let bodyKind {
                    writer.member("body") { writer in
                        writer.member("kind", bodyKind)
                        writer.member("size", attempt.body.size)
                        writer.member("contentType", attempt.fields.first("Content-Type"))
                    }
                }
                writer.member("curl", CurlCommand(attempt).text)
            }
        }

        /// With the fields that the transport writes.
        private var wireFields: HTTPFields {
            var fields = attempt.fields
            if !fields.contains("Host") {
                fields.list.insert(HTTPFields.Field("Host", attempt.url.authority), at: 0)
            }
            let writesLength = attempt.body != .none || ["POST", "PUT", "PATCH"].contains(attempt.method)
            if writesLength { fields.add("Content-Length", "\(attempt.body.size)") }
            return fields
        }
    }

    static func call(_ params: RequestParameters, _ call: Call<ClientScope>) async throws -> Result {
        let engine = call.scope.service.engine
        let spec = params.spec(with: engine.settings)
        do throws(HTTPFailure) {
            return Result(attempt: try await engine.attempt(for: spec), bodyKind: spec.body.kind)
        } catch {
            throw RPCError(error)
        }
    }
}

extension AttemptBody {
    fileprivate var size: Int64 {
        switch self {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .file(_, let size): size
        }
    }
}
