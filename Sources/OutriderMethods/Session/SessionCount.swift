// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// The number of requests of a session that a method changed, and their new state.
struct SessionCount: JSONEncodable {
    private let deed: StaticString
    private let count: Int

    init(_ deed: StaticString, _ count: Int) {
        self.deed = deed
        self.count = count
    }

    func encode(to writer: inout JSONWriter) { writer.object { $0.member(deed, count) } }
}
