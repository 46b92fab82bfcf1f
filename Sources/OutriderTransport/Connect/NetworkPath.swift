// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
package import OutriderHTTP

/// The system's knowledge of a route, without sending a packet.
package enum NetworkPath {
    /// For a numeric host or localhost: whether a route leads there over an interface that the rule permits. For a name:
    /// whether there is any such network.
    package static func leads(to url: HTTPURL, over rule: InterfaceRule) -> Bool { rule.permits(sample(to: url)) }
}
