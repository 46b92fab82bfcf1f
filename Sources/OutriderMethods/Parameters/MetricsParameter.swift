// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The measurements in a response: a boolean, or `{certificates}`.
struct MetricsParameter: JSONDecodable {
    var isOn = true
    var certificates = false

    init(json: JSONValue) throws(JSONComplaint) {
        guard json.object != nil else {
            isOn = try Bool(json: json)
            return
        }
        var fields = try JSONFields(json)
        certificates = try fields.optional("certificates") ?? false
        try fields.finish()
    }
}
