// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Sends a number of events, then replies.
struct DiagnosticsNotify: Method {
    static let name = "diagnostics.notify"

    struct Params: JSONDecodable {
        var count: Int
        /// Seconds between two events.
        var interval: Double
        /// Characters.
        var pad: Int
        var method: String

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let count = try fields.integer("count", in: 0...1_000_000)
            interval = try fields.number("interval", in: 0...60) ?? 0
            pad = try fields.integer("pad", in: 0...1_048_576) ?? 0
            method = try fields.optional("method") ?? "diagnostics.tick"
            try fields.finish()
            self.count = try JSONFields.need("count", count)
        }
    }

    /// A single event.
    struct Tick: ObjectShape {
        var number: Int
        var pad: String?

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("n", number)
            writer.member("pad", pad)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let pad = params.pad > 0 ? String(repeating: "x", count: params.pad) : nil
        for number in 0..<params.count {
            if number > 0, params.interval > 0 { try await Task.sleep(for: .seconds(params.interval)) }
            try await call.peer.notify(Event(params.method, Tick(number: number, pad: pad)))
            // Other calls of the same event loop want their turn, too.
            if number % 64 == 63 { await Task.yield() }
        }
        return ReplyMembers { $0.member("sent", params.count) }
    }
}
