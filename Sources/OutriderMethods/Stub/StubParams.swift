// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The params of methods about stubs of a session, of one or of all of them.
struct StubParams: JSONDecodable {
    var session: SessionReference?
    var stub: String?

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        session = try fields.optional("session")
        stub = try fields.optional("stub")
        try fields.finish()
    }
}
