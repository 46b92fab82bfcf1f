// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// A value whose JSON form is an object.
protocol ObjectShape: JSONEncodable {
    func encodeMembers(to writer: inout JSONWriter)
}

extension ObjectShape {
    package func encode(to writer: inout JSONWriter) { writer.object { encodeMembers(to: &$0) } }
}
