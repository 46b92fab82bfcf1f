// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Writes the fields of the requests of a connection, and remembers those of the last request: requests that follow each
/// other often differ in nothing but the path.
struct HTTP2RequestHead: ~Copyable {
    /// Coded bytes that are remembered.
    private static let mostBytes = 1 << 10

    private struct Known {
        let method: String
        let host: String
        let port: Int
        let socketPath: String?
        let fields: [HTTPFields.Field]
        let decodes: Bool
        let priority: RequestPriority
        /// The state of the encoder's table for which the bytes hold; the bytes are empty after one such request only.
        var changes: UInt32 = 0
        var pseudo: [UInt8] = []
        var rest: [UInt8] = []

        init(_ request: HTTP2Request) {
            let attempt = request.attempt
            let url = attempt.url
            (method, host, port, socketPath) = (attempt.method, url.host, url.port, url.socketPath)
            (fields, decodes, priority) = (attempt.fields.list, attempt.decodesContent, request.priority)
        }

        /// Whether a request differs in nothing but the path.
        func matches(_ request: HTTP2Request) -> Bool {
            let attempt = request.attempt
            let url = attempt.url
            guard method == attempt.method, port == url.port, decodes == attempt.decodesContent,
                priority == request.priority, socketPath == url.socketPath, FieldHash.same(host, url.host)
            else { return false }
            let others = attempt.fields.list
            guard others.count == fields.count else { return false }
            for (index, field) in fields.enumerated()
            where !FieldHash.same(field.value, others[index].value) || !FieldHash.same(field.name, others[index].name) {
                return false
            }
            return true
        }
    }

    private var known: Known?

    /// Whether the request is the last one again but for its path, so that the rest needs no check.
    func isKnown(_ request: HTTP2Request) -> Bool {
        guard !request.expectsContinue, case .none = request.attempt.body, let known else { return false }
        return known.matches(request)
    }

    /// - Parameter isKnown: the outcome of `isKnown` for this request, which was checked.
    mutating func write(
        _ request: HTTP2Request, isKnown: Bool, _ encoder: inout HPACKEncoder, _ output: inout WireBytes
    ) {
        let target = request.attempt.url.target
        if isKnown, !encoder.announces, let known, !known.pseudo.isEmpty, known.changes == encoder.changes {
            known.pseudo.withUnsafeBytes { output.append($0) }
            HTTP2RequestFields.writePath(target, &encoder, &output)
            known.rest.withUnsafeBytes { output.append($0) }
            return
        }
        encoder.begin(&output)
        let (start, changes) = (output.count, encoder.changes)
        HTTP2RequestFields.writePseudo(request.attempt, &encoder, &output)
        let path = output.count
        HTTP2RequestFields.writePath(target, &encoder, &output)
        let rest = output.count
        HTTP2RequestFields.writeFields(request, &encoder, &output)
        guard isKnown else { return learn(request) }
        guard encoder.changes == changes, path - start + output.count - rest <= Self.mostBytes else { return }
        known?.changes = changes
        known?.pseudo = Array(output.bytes[start..<path])
        known?.rest = Array(output.bytes[rest...])
    }

    /// Fields with secrets are not kept in memory for later requests.
    private mutating func learn(_ request: HTTP2Request) {
        let isSecret = request.attempt.fields.list.contains { SecretFields.contains($0.name) }
        if !isSecret, !request.expectsContinue, case .none = request.attempt.body {
            known = Known(request)
        } else {
            known = nil
        }
    }
}
