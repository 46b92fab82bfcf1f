// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Whether redirects are followed: "follow", "none", or an object with options.
struct RedirectParameter: JSONDecodable {
    var policy: RedirectPolicy
    /// The callback for each redirect; the policy names the same callback.
    var callback: CallbackSpec?

    init(json: JSONValue) throws(JSONComplaint) {
        policy = .follow
        if case .string(let word) = json {
            switch word {
            case "follow": return
            case "none": policy = .none
            default: throw JSONComplaint("must be \"follow\", \"none\" or an object")
            }
            return
        }
        guard json.object != nil || json.array?.isEmpty == true else {
            throw JSONComplaint("must be \"follow\", \"none\" or an object, not \(json.typeName)")
        }
        var fields = try JSONFields(json)
        if let limit = try fields.integer("max", in: 0...100) { policy.limit = limit }
        policy.keepHeaders = try fields.optional("keepHeaders") ?? []
        policy.keepsBody = try fields.optional("keepBody") ?? false
        callback = try fields.optionalCallback()
        policy.callback = callback?.name
        try fields.finish()
    }
}
