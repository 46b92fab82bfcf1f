// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The params of a method for a single session, by default the default session.
struct SessionParams: JSONDecodable {
    var session: SessionReference?

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        session = try fields.optional("session")
        try fields.finish()
    }
}
