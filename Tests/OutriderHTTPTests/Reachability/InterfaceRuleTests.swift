// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

struct InterfaceRuleTests {
    private func sample(_ kind: NetworkInterface.Kind?, _ status: PathSample.Status = .reachable) -> PathSample {
        PathSample(status, interface: kind.map { NetworkInterface(name: "a0", kind: $0) }, ipv4: true)
    }

    @Test func `a way counts by the kind of its first interface`() {
        let any = InterfaceRule()
        #expect(any.permits(sample(.cellular)) && any.permits(sample(nil)))
        #expect(!any.permits(sample(.wifi, .unreachable)))
        let wifi = InterfaceRule(required: .wifi)
        #expect(wifi.permits(sample(.wifi)) && !wifi.permits(sample(.ethernet)) && !wifi.permits(sample(nil)))
        let cheap = InterfaceRule(prohibited: [.cellular, .tunnel])
        #expect(cheap.permits(sample(.ethernet)) && cheap.permits(sample(nil)) && !cheap.permits(sample(.tunnel)))
    }
}
