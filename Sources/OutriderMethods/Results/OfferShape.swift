// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// An authentication scheme that a server accepts.
struct OfferShape: ObjectShape {
    private let offer: AuthenticationOffer
    private let realm: String

    /// - Parameter realm: the name to show, if the realm is masked.
    init(_ offer: AuthenticationOffer, realm: String? = nil) {
        self.offer = offer
        self.realm = realm ?? offer.realm
    }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("scheme", offer.scheme.rawValue)
        writer.member("realm", realm)
        writer.member("algorithm", offer.digest?.algorithm.rawValue)
    }
}
