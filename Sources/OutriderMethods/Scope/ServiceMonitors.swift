// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderEngine
package import OutriderHTTP
import OutriderJSON

/// Hands what happens to those who want to know: the subscriptions of clients, and the log.
package protocol ServiceMonitors: MonitorSink {
    /// Notes that subscriptions had no room for, since the start.
    var dropped: Int { get }
    var subscriptionCount: Int { get }
    /// Lines that the log had no room for, since the start.
    var linesDropped: Int { get }

    /// From now on it hears of its topics.
    func add(_ taker: any MonitorTaker)
    func remove(_ taker: any MonitorTaker)

    /// The log has another level, or goes elsewhere.
    func logChanged()

    /// What methods do, which is about no exchange of the engine.
    func tell(_ topic: MonitorTopic, _ subject: MonitorSubject, _ detail: () -> MonitorDetail)
}

/// Who wants to know.
package protocol MonitorTaker: AnyObject, Sendable {
    var topics: TopicSet { get }

    /// Whether it may and wants to know of what happens to that one.
    func isAbout(_ subject: MonitorSubject) -> Bool

    /// Returns how many notes were dropped for it. Must return at once.
    func take(_ note: MonitorNote) -> Int
}

/// One thing that happened: its detail is written already, once for all who take it.
package struct MonitorNote: Sendable {
    var topic: MonitorTopic
    var subject: MonitorSubject
    var time: WallTime
    var detail: JSONText

    /// What it costs to keep.
    var bytes: Int { detail.bytes.count &+ 128 }
}
