// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

extension JSONFields {
    /// Reads `callback`, `decide` and `timeout`, which stand among other members; nil if no callback is named.
    mutating func callback() throws(JSONComplaint) -> CallbackSpec? {
        let name: String? = try optional("callback") { (name: String) in
            if name.isEmpty { return "must not be empty" }
            return name.utf8.count > CallbackSpec.longestName
                ? "must not be longer than \(CallbackSpec.longestName) bytes" : nil
        }
        let way: CallbackSpec.Way? = try choice("decide")
        let timeout = try number("timeout", in: CallbackSpec.timeouts)
        guard let name else { return nil }
        return CallbackSpec(name, way: way ?? .request, timeout: timeout ?? 30)
    }

    /// The same where `callback` may be left out. `decide` and `timeout` alone would have no effect, and are refused.
    mutating func optionalCallback() throws(JSONComplaint) -> CallbackSpec? {
        let options = callbackOptions
        let spec = try callback()
        if spec == nil { try Self.needCallback(for: options) }
        return spec
    }

    /// The options of a callback that are given.
    var callbackOptions: [StaticString] { present(["decide", "timeout"]) }

    /// Refuses options without `callback`.
    static func needCallback(for options: [StaticString]) throws(JSONComplaint) {
        guard let option = options.first?.description else { return }
        throw JSONComplaint(
            "callback is required with \(option): name the client's code, or leave \(option) out",
            at: JSONPointer(member: "callback"))
    }

    /// Refuses `decide` and `timeout` beside a member that excludes `callback`.
    func refuseCallbackOptions() throws(JSONComplaint) {
        guard let option = callbackOptions.first?.description else { return }
        throw JSONComplaint("\(option) goes with callback only", at: JSONPointer(member: option))
    }
}

/// `{callback, decide, timeout}`, without other members.
struct CallbackParameter: JSONDecodable {
    var spec: CallbackSpec

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let spec = try fields.callback()
        try fields.finish()
        self.spec = try JSONFields.need("callback", spec)
    }
}
