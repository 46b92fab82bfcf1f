// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// `event.reachability`: the current reachability of a host.
struct ReachabilityEvent: ObjectShape, Sendable {
    var subscription: String
    var sequence: Int
    var sample: PathSample
    var previous: PathSample

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("subscription", subscription)
        writer.member("seq", sequence)
        writer.members(of: sample)
        writer.member("previous", previous.status.rawValue)
    }
}
