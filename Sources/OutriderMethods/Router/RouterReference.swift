// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The router that a call is about.
struct RouterReference: JSONDecodable {
    var router: String

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let router: String? = try fields.optional("router")
        try fields.finish()
        self.router = try JSONFields.need("router", router)
    }
}
