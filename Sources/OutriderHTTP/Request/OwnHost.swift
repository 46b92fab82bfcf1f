// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension RequestSpec {
    /// Whether the request may set its own Host field: only for this machine or a private address, where virtual hosts
    /// are tested. A redirect to another origin drops the field.
    func mayNameHost(at url: HTTPURL) -> Bool {
        let place = (ownSecurity?.connectTo ?? security.target(for: url))?.applied(to: url) ?? url
        if place.isLocal { return true }
        guard let address = IPAddressText.bytes(of: place.hostName) else { return false }
        switch AddressKind(address) {
        case .loopback, .special: return true
        case .global, .metadata: return false
        }
    }
}
