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
