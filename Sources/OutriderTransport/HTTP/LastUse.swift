// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import FoundationEssentials
import NIOCore
import OutriderHTTP

extension ConnectionSecurity {
    /// How long a connection may be reused if its policy is stricter than the default, or if a client certificate is
    /// set.
    private static let patience = TimeAmount.minutes(10)

    /// The time after which no attempt may begin on a connection.
    func lastUse(of facts: TLSFacts) -> NIODeadline {
        let isPlain = (policy == .default || policy.isNone) && settings.identity == nil
        let usual = isPlain ? NIODeadline.distantFuture : .now() + Self.patience
        guard let end = facts.expires else { return usual }
        return min(usual, .now() + .seconds(end - Date.now.timeIntervalSince1970))
    }
}
