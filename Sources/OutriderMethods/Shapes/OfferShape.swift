// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// One way of saying who asks that a server would accept.
struct OfferShape: JSONEncodable {
    var offer: AuthenticationOffer
    var mask = MonitorMask.owner

    func encode(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("scheme", offer.scheme.rawValue)
            writer.member("realm", mask.name(offer.realm))
            writer.member("algorithm", offer.digest?.algorithm.rawValue)
        }
    }
}
