// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderEngine
package import OutriderHTTP
import OutriderJSON

/// Distributes notes to monitors: the subscriptions of clients, and the log.
package protocol ServiceMonitors: MonitorSink {
    /// Notes that full subscriptions dropped, since the start.
    var dropped: Int { get }
    var subscriptionCount: Int { get }
    /// Lines that the full log dropped, since the start.
    var linesDropped: Int { get }

    /// Gives the taker notes on its topics from now on.
    func add(_ taker: any MonitorSubscriber)
    func remove(_ taker: any MonitorSubscriber)

    /// The log's level or destination has changed.
    func logChanged()

    /// Tells monitors of a method's action that concerns no exchange of the engine.
    func tell(_ topic: MonitorTopic, _ subject: MonitorSubject, _ detail: () -> MonitorDetail)
}

/// A consumer of notes.
package protocol MonitorSubscriber: AnyObject, Sendable {
    var topics: TopicSet { get }

    /// Whether the taker may get, and wants, notes on that subject.
    func isAbout(_ subject: MonitorSubject) -> Bool

    /// Takes a note; returns how many notes were dropped. Must return at once.
    func take(_ note: MonitorNote) -> Int
}

/// A single note; the detail is already written, once for all subscribers.
package struct MonitorNote: Sendable {
    var topic: MonitorTopic
    var subject: MonitorSubject
    var time: WallTime
    var detail: JSONText

    /// The bytes that count for limits.
    var bytes: Int { detail.bytes.count &+ 128 }
}
