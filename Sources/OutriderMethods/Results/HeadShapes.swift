// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Fields for a client: a list of name and value, in wire order.
struct FieldsShape: JSONEncodable {
    var fields: HTTPFields

    init(_ fields: HTTPFields) { self.fields = fields }

    func encode(to writer: inout JSONWriter) {
        writer.array { writer in
            for field in fields.list { writer.pair(field.name, field.value) }
        }
    }
}
