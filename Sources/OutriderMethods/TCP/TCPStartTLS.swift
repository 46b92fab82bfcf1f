// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Begins TLS on an open stream (STARTTLS).
struct TCPStartTLS: Method {
    static let name = "tcp.startTls"

    struct Params: JSONDecodable {
        var stream: Handle<ReadStream>
        var tls: DuplexTLS

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let stream = try fields.optional("stream", as: Handle<ReadStream>.self)
            tls = try TCPSecurityParameter.members(&fields)
            try fields.finish()
            self.stream = try JSONFields.need("stream", stream)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let stream = try call.scope.handles.find(params.stream, "stream")
        let connection = try stream.connection()
        if stream.isAttached {
            throw RPCError.wrongState("a second connection carries the stream: begin TLS before stream.attach", "both")
        }
        if connection.isUnix, params.tls.serverName == nil {
            throw RPCError(
                JSONComplaint(
                    "TLS over a Unix socket needs the name that the certificate is for: add serverName",
                    at: JSONPointer(member: "serverName")))
        }
        let outcome = await connection.startTLS(params.tls)
        try Task.checkCancellation()
        return ReplyMembers { writer in
            switch outcome {
            case .success(let security):
                writer.member("ok", true)
                writer.member("tls", TCPSecurityShape(security: security))
            case .failure(let failure):
                writer.member("ok", false)
                writer.member("error", FailureShape(failure))
            }
        }
    }
}

extension ReadStream {
    /// The connection behind the stream. Throws `wrongState` for the body of a response.
    func connection() throws(RPCError) -> TCPStream {
        if let stream = duplex as? TCPStream { return stream }
        throw RPCError.wrongState("this is the body of a response, not a stream of tcp.open", "read")
    }
}
