// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// A note as a line of the log: a sentence for people, members for programs.
struct MonitorLine: LogLine {
    var topic: MonitorTopic
    var subject: MonitorSubject
    var detail: MonitorDetail

    var level: LogSetting.Level {
        switch topic.level {
        case .trace: .trace
        case .debug: .debug
        case .info: .info
        }
    }

    var scope: LogScope { .connection(subject.owner?.name) }

    /// "request.finished GET http://127.0.0.1/ 200 in 0.012 s, 17 bytes [req_… con_…]".
    var text: String {
        var names = [subject.request, subject.session, subject.owner?.name].compactMap { $0 }
        if let tag = subject.tag { names.append("tag \(tag)") }
        let words = words
        return topic.name + (words.isEmpty ? "" : " " + words)
            + (names.isEmpty ? "" : " [\(names.joined(separator: " "))]")
    }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("topic", topic.name)
        writer.member("request", subject.request)
        writer.member("session", subject.session)
        writer.member("tag", subject.tag)
        writer.member("connection", subject.owner?.name)
        writer.member("detail", MonitorDetailShape(detail: detail, mask: .log))
    }

    private var words: String {
        switch detail {
        case .nothing: ""
        case .request(let request, let attempt): "\(request.method) \(url(request.url.description))\(Self.nth(attempt))"
        case .outcome(let failure, let attempt): (failure.map(words) ?? "fine") + Self.nth(attempt)
        case .attempt(let attempt): attempt > 0 ? "attempt \(attempt)" : ""
        case .phase(let phase, let attempt): "\(phase.rawValue)\(Self.nth(attempt))"
        case .connection(let timeline, let attempt):
            (timeline.remote ?? "?") + (timeline.reused ? " again" : " anew")
                + (timeline.tlsVersion.map { " over \($0)" } ?? "")
                + (timeline.tlsFacts?.verified == VerifiedBy.none ? ", not verified (trust none)" : "")
                + Self.nth(attempt)
        case .head(let status, _, let fields, let attempt):
            "\(status), \(fields.list.count) header fields\(Self.nth(attempt))"
        case .bytes(let count, let total, let attempt):
            "\(count)\(total.map { " of \($0)" } ?? "") bytes\(Self.nth(attempt))"
        case .timeline(let timeline, _, let attempt): "\(Self.parts(timeline))\(Self.nth(attempt))"
        case .redirect(let hop, let attempt):
            "\(hop.status) from \(url(hop.from)) to \(url(hop.to))\(Self.nth(attempt))"
        case .retry(let delay, let failure, let attempt):
            "in \(Self.text(delay)) s: \(failure.map(words) ?? "the response is not liked")\(Self.nth(attempt))"
        case .finish(let finish): words(finish)
        case .upload(let kind, let size): kind + (size.map { ", \($0) bytes" } ?? "")
        case .parsed(let kind, let size, let handler, let failure):
            (handler.map { "\($0): " } ?? "") + "\(kind), \(size) bytes" + (failure.map { ", \(words($0))" } ?? "")
        case .handle(let handle, let size): handle + (size.map { ", \($0) bytes" } ?? "")
        case .token(let name, let failure): name + (failure.map { ": \($0.kind.rawValue), \($0.reason)" } ?? "")
        case .callback(let callback):
            "\(callback.method) \(callback.name)\(Self.nth(callback.attempt))"
                + (callback.seconds.map { " in \(Self.text($0)) s" } ?? "")
                + (callback.problem.map { ": \($0)" } ?? "")
        case .challenge(let offers, let url, let attempt):
            offers.map(\.scheme.rawValue).joined(separator: " or ") + " for \(self.url(url))\(Self.nth(attempt))"
        case .credential(let signature, let attempt):
            signature.scheme.rawValue + (signature.isEarly ? " unasked" : "") + Self.nth(attempt)
        case .partial(_, let count, let total): "\(count)\(total.map { " of \($0)" } ?? "") bytes"
        case .file(_, let size): "\(size) bytes"
        case .item(let stream, let size, let failure):
            "\(stream), \(size) bytes" + (failure.map { ", \(words($0))" } ?? "")
        case .cookies(let changes, let attempt):
            changes.compactMap(\.reason?.text).joined(separator: ", ") + Self.nth(attempt)
        case .cache(let note, let attempt):
            [
                note.name, note.status?.rawValue, note.url.map { url($0) }, note.reason,
                note.size.map { "\($0) bytes" }, note.count.map { "\($0) entries" },
            ].compactMap { $0 }.joined(separator: ", ") + Self.nth(attempt)
        }
    }

    private func words(_ finish: MonitorDetail.Finish) -> String {
        "\(finish.method) \(url(finish.url)) \(finish.status.map(String.init) ?? "-") in \(Self.text(finish.total)) s"
            + ", \(finish.bytes) bytes" + (finish.attempts > 1 ? ", \(finish.attempts) attempts" : "")
            + (finish.redirects > 0 ? ", \(finish.redirects) redirects" : "")
            + (finish.failure.map { ": \(words($0))" } ?? "")
    }

    private func words(_ failure: HTTPFailure) -> String {
        "failure \(failure.kind.failureCode.code), \(MonitorMask.log.failure(failure).message)"
    }

    private func url(_ text: String) -> String { MonitorMask.log.url(text) }

    private static func nth(_ attempt: Int) -> String { attempt > 0 ? " (attempt \(attempt))" : "" }

    private static func parts(_ timeline: Timeline) -> String {
        let parts = timeline.phases + [("total", timeline.total)]
        return parts.compactMap { name, time in time.map { "\(name) \(text($0.seconds))" } }.joined(separator: ", ")
    }

    /// Whole microseconds.
    private static func text(_ seconds: Double) -> String { "\((seconds * 1e6).rounded() / 1e6)" }
}
