// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore

/// Short work scheduled for later, unless cancelled.
package struct ScheduledWork: Sendable {
    private let scheduled: Scheduled<Void>

    init(_ seconds: Double, on group: any EventLoopGroup, _ work: @escaping @Sendable () -> Void) {
        scheduled = group.any().scheduleTask(in: .milliseconds(Int64(seconds * 1000)), work)
    }

    package func cancel() { scheduled.cancel() }
}
