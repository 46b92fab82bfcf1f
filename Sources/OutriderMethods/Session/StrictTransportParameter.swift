// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// `true`, `false`, or `{file}`.
struct StrictTransportParameter: JSONDecodable, Sendable {
    private var isOn = true
    private var file: String?

    init(json: JSONValue) throws(JSONComplaint) {
        if case .bool(let isOn) = json {
            self.isOn = isOn
            return
        }
        var fields = try JSONFields(json)
        let file: String? = try fields.optional("file") { (file: String) in
            file.hasPrefix("/") && !file.utf8.contains(0) ? nil : "must be absolute and without U+0000"
        }
        try fields.finish()
        self.file = try JSONFields.need("file", file)
    }

    /// Nil for off. Throws `invalidParams` for a file that cannot be read.
    func memory(
        replacing known: StrictTransportMemory?, _ call: Call<ClientScope>
    ) async throws(RPCError) -> StrictTransportMemory? {
        guard isOn else { return nil }
        guard let file else { return known?.path == nil ? known ?? StrictTransportMemory() : StrictTransportMemory() }
        do throws(HTTPFailure) {
            return try await call.scope.service.engine.strictTransport.memory(at: file, for: call.scope.quota.client)
        } catch {
            throw RPCError(.invalidParams, error.message, data: ["pointer": .string("/hsts/file")])
        }
    }
}

extension SessionInfoShape {
    /// `true`, or the file; nothing for a session that remembers no hosts.
    static func encode(_ memory: StrictTransportMemory?, to writer: inout JSONWriter) {
        guard let memory else { return }
        guard let path = memory.path else { return writer.member("hsts", true) }
        writer.member("hsts") { writer in
            writer.member("file", path)
            writer.member("problem", memory.problem)
        }
    }
}
