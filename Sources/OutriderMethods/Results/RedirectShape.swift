// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// A redirect that was followed.
struct RedirectShape: ObjectShape {
    var hop: RedirectHop

    init(_ hop: RedirectHop) { self.hop = hop }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("status", hop.status)
        writer.member("from", hop.from)
        writer.member("url", hop.to)
        if hop.isStrict { writer.member("hsts", true) }
        if !hop.dropped.isEmpty { writer.member("dropped", hop.dropped) }
    }
}
