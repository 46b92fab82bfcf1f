// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Replies after a while; can be cancelled.
struct DiagnosticsSleep: Method {
    static let name = "diagnostics.sleep"

    struct Params: JSONDecodable {
        var seconds: Double
        /// The same in the client's notation: 2 stays 2.
        var written: JSONValue

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let written = try fields.optional("seconds", as: JSONValue.self) { value in
                guard let seconds = value.number else { return "must be a number" }
                return (0...3600).contains(seconds) ? nil : "must be from 0 to 3600"
            }
            try fields.finish()
            self.written = try JSONFields.need("seconds", written)
            seconds = self.written.number ?? 0
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        try await Task.sleep(for: .seconds(params.seconds))
        return ReplyMembers { $0.member("seconds", params.written) }
    }
}
