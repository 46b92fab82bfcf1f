// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
package import OutriderHTTP

/// The system's knowledge of a route, without sending a packet.
package enum NetworkPath {
    /// For a numeric host or localhost: whether a route leads there. For a name: whether there is any network at all.
    package static func leads(to url: HTTPURL) -> Bool {
        guard let known = try? url.knownAddresses() else { return isAvailable }
        return known.contains { $0.protocol == .unix || localAddress(towards: $0) != nil }
    }

    /// The same over an interface that the rule permits.
    package static func leads(to url: HTTPURL, over rule: InterfaceRule) -> Bool {
        rule.permitsAll ? leads(to: url) : rule.permits(sample(to: url))
    }
}
