// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Whether to reopen an event stream after its end: true, false, or an object with options.
struct ReconnectParameter: JSONDecodable {
    var policy = ReconnectPolicy()
    /// Whether the member was present; otherwise the method decides.
    var isSaid = false

    private static let longest = 86400.0

    init(json: JSONValue) throws(JSONComplaint) {
        if case .bool(let flag) = json {
            policy.isEnabled = flag
            isSaid = true
            return
        }
        guard json.object != nil || json.array?.isEmpty == true else {
            throw JSONComplaint("must be true, false or an object, not \(json.typeName)")
        }
        var fields = try JSONFields(json)
        if let enabled: Bool = try fields.optional("enabled") {
            policy.isEnabled = enabled
            isSaid = true
        }
        if let delay = try fields.number("delay", in: 0...Self.longest) { policy.delay = delay }
        if let longest = try fields.number("maxDelay", in: 0...Self.longest) { policy.longest = longest }
        policy.max = try fields.integer("max", in: 1...1_000_000_000)
        if let initial: Bool = try fields.optional("initial") { policy.initial = initial }
        try fields.finish()
    }
}
