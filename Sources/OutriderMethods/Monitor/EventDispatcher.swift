// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderEngine
package import OutriderHTTP
import OutriderJSON
package import OutriderRPC
import Synchronization

/// Distributes notes by topic to subscriptions and the log. Producers skip topics without a taker.
final class EventDispatcher: ServiceMonitors {
    private struct Contents {
        var subscribers: [any MonitorSubscriber] = []
        /// The topics that the log shows.
        var logged = TopicSet()
    }

    private let monitor: Monitor
    private let log: any LogOutlet
    private let contents = Mutex(Contents())
    private let lost = Atomic(0)

    init(_ monitor: Monitor, log: any LogOutlet) {
        self.monitor = monitor
        self.log = log
    }

    var dropped: Int { lost.load(ordering: .relaxed) }
    var subscriptionCount: Int { contents.withLock { $0.subscribers.count } }
    var linesDropped: Int { log.dropped }

    func add(_ subscriber: any MonitorSubscriber) {
        contents.withLock { contents in
            contents.subscribers.append(subscriber)
            listen(contents)
        }
    }

    func remove(_ subscriber: any MonitorSubscriber) {
        contents.withLock { contents in
            contents.subscribers.removeAll { $0 === subscriber }
            listen(contents)
        }
    }

    func logChanged() {
        let level = MonitorTopic.Level.allCases.first { log.isLogged(LogSetting.Level(rawValue: $0.rawValue) ?? .info) }
        contents.withLock { contents in
            contents.logged = log.takesLines ? level.map { .logged(from: $0) } ?? [] : []
            listen(contents)
        }
    }

    private func listen(_ contents: Contents) {
        monitor.tell(self, contents.subscribers.reduce(contents.logged) { $0.union($1.topics) })
    }

    func receive(_ topic: MonitorTopic, _ subject: MonitorSubject, _ detail: () -> MonitorDetail) {
        let (subscribers, isLogged) = contents.withLock { contents in
            (
                contents.subscribers.filter { $0.topics.contains(topic) && $0.isAbout(subject) },
                contents.logged.contains(topic)
            )
        }
        guard isLogged || !subscribers.isEmpty else { return }
        let detail = detail()
        if isLogged { log.write(MonitorLine(topic: topic, subject: subject, detail: detail)) }
        guard !subscribers.isEmpty else { return }
        let text = JSONText(written: JSONWriter.bytes(of: MonitorDetailShape(detail: detail, mask: .owner)))
        let note = MonitorNote(topic: topic, subject: subject, time: .now, detail: text)
        for subscriber in subscribers {
            let count = subscriber.take(note)
            if count > 0 { lost.wrappingAdd(count, ordering: .relaxed) }
        }
    }

    func tell(_ topic: MonitorTopic, _ subject: MonitorSubject, _ detail: () -> MonitorDetail) {
        if monitor.wants(topic) { receive(topic, subject, detail) }
    }
}

extension Service {
    /// The state that the methods of all connections share, made once at the start.
    package convenience init(
        engine: Engine, log: any LogOutlet = NoLog(), flush: @escaping @Sendable () -> Void = {},
        retire: @escaping @Sendable (SecurityPlan, SecurityPlan) -> Void = { _, _ in },
        pool: @escaping @Sendable () async -> PoolCounts
    ) {
        let monitors = EventDispatcher(engine.monitor, log: log)
        let credentials = CredentialEvents(monitors, caches: engine.settings.caches)
        self.init(
            engine: engine, monitors: monitors, credentials: credentials, flush: flush, retire: retire, pool: pool)
        engine.credentials.tell(credentials)
        monitors.logChanged()
    }
}
