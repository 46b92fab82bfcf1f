// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The names of an exchange for monitors; the engine does not use them.
package struct ExchangeIdentity: Sendable {
    package var name: String
    package var session: String?
    package var tag: String?
    package var owner: MonitorOwner?

    package init(name: String = "", session: String? = nil, tag: String? = nil, owner: MonitorOwner? = nil) {
        self.name = name
        self.session = session
        self.tag = tag
        self.owner = owner
    }
}
