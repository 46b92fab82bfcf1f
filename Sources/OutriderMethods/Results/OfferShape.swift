// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// One way of saying who asks that a server would accept.
struct OfferShape: JSONEncodable {
    private let offer: AuthenticationOffer
    private let realm: String

    /// - Parameter realm: what it is called, where that is not to be said.
    init(_ offer: AuthenticationOffer, realm: String? = nil) {
        self.offer = offer
        self.realm = realm ?? offer.realm
    }

    func encode(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("scheme", offer.scheme.rawValue)
            writer.member("realm", realm)
            writer.member("algorithm", offer.digest?.algorithm.rawValue)
        }
    }
}
