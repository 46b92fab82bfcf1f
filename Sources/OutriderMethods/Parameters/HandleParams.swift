// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The params of a method for a single object, in a member with the name of its kind.
struct HandleParams<Thing: Holdable>: JSONDecodable {
    var handle: Handle<Thing>

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let handle: Handle<Thing>? = try fields.optional(Thing.kind.parameter)
        try fields.finish()
        self.handle = try JSONFields.need(Thing.kind.parameter, handle)
    }
}
