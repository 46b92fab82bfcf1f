// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import Testing

@testable import OutriderMethods

struct ReplayParameterTests {
    @Test func `values that are masked are prepared where the cassette is opened, which is no event loop`() throws {
        let text = #"{"path": "/none/a.har", "mask": {"values": ["hidden-1", "hidden-2"], "query": ["q"]}}"#
        let settings = try ReplayParameter.settings(parsing: text)
        #expect(settings.mask.values.isEmpty && settings.mask.names.parameters == ["q"])
        var mask = settings.mask
        mask.values.add(settings.secrets)
        #expect(mask.values.replaced("a hidden-1 b hidden-2") == "a *** b ***")
    }
}
