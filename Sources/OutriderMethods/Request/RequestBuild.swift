// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Shows a request without sending.
struct RequestBuild: Method {
    static let name = "request.build"

    struct Result: ObjectShape {
        var attempt: Attempt
        /// Its secrets are masked.
        var command: CurlCommand
        var bodyKind: String?
        /// The most bytes of a body that are shown.
        var mostBytes: Int

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("method", attempt.method)
            writer.member("url", attempt.url.described)
            writer.member("headers", FieldsShape(wireFields))
            if let bodyKind {
                writer.member("body") { writer in
                    writer.member("kind", bodyKind)
                    writer.member("size", attempt.body.size)
                    writer.member("contentType", attempt.fields.first("Content-Type"))
                    if case .bytes(let bytes) = attempt.body, bytes.count <= mostBytes {
                        BodyBytesShape(bytes).encodeMembers(to: &writer)
                    }
                }
            }
            writer.member("curl", command.text)
        }

        /// With the fields that the transport writes.
        private var wireFields: HTTPFields {
            var fields = attempt.fields
            if !fields.contains("Host") {
                fields.list.insert(HTTPFields.Field("Host", attempt.url.authority), at: 0)
            }
            if attempt.expectsContinue, attempt.body.size != 0 { fields.add("Expect", "100-continue") }
            let writesLength = attempt.body != .none || ["POST", "PUT", "PATCH"].contains(attempt.method)
            guard writesLength else { return fields }
            if let size = attempt.body.size {
                fields.add("Content-Length", "\(size)")
            } else {
                fields.add("Transfer-Encoding", "chunked")
            }
            return fields
        }
    }

    static func call(_ params: RequestParameters, _ call: Call<ClientScope>) async throws -> Result {
        let engine = call.scope.service.engine
        var params = params
        let assembly = try RequestAssembly(&params, call, opens: false)
        var spec = assembly.spec
        // no callback runs, so that the call has no effects
        if spec.parameters?.encoder != nil { spec.parameters = nil }
        try spec.body.findStreams(in: call.scope.handles)
        do throws(HTTPFailure) {
            let built = try await engine.attempt(for: spec, of: call.scope.quota.client)
            let attempt = shown(built, params.cookies, assembly.session, url: spec.url)
            // escaping may make text six times as long
            let most = min(spec.maxInline, (call.peer.terms.maxMessageBytes ?? .max) / 8)
            let command = await CurlCommand.made(
                of: await PlainBody.request(attempt), followsRedirects: spec.shared?.plan.redirect.follows ?? true)
            return Result(attempt: attempt, command: command, bodyKind: kind(of: spec, attempt), mostBytes: most)
        } catch {
            throw RPCError(params.placed(error))
        }
    }
}

extension RequestBuild {
    /// The request with the cookies that it would send now.
    private static func shown(
        _ built: Attempt, _ cookies: RequestCookiesParameter?, _ session: SessionRecord?, url: String
    ) -> Attempt {
        SessionCookies.step(cookies, session?.settings.cookies, url: url)?.shown(built) ?? built
    }

    /// The form of the body in the request; nil without a body.
    private static func kind(of spec: RequestSpec, _ attempt: Attempt) -> String? {
        guard attempt.body != .none else { return nil }
        return spec.body.kind
            ?? spec.parameters.map { spec in
                spec.encoding.kind == .urlEncodedForm ? "form" : spec.encoding.kind.rawValue
            }
    }
}
