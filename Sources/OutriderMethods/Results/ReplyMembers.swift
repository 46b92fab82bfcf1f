// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// A reply whose members are written by the method that returns it.
struct ReplyMembers: JSONEncodable {
    private let members: (inout JSONWriter) -> Void

    init(_ members: @escaping (inout JSONWriter) -> Void) { self.members = members }

    func encode(to writer: inout JSONWriter) { writer.object(members) }
}
