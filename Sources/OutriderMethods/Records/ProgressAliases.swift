// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Progress in the terms of other protocols, for editors and agents that draw their own progress bars: `$/progress` of
/// the Language Server Protocol, and `notifications/progress` of the Model Context Protocol.
///
/// Both expect a single increasing number, so the request body and the response body count as one task.
struct ProgressAliases: Sendable {
    /// A notification, and whether it must arrive.
    struct Told: Sendable {
        var event: Event
        var key: String
        var mayBeLost: Bool
    }

    private let options: ProgressOptions
    private let title: String
    private var isBegun = false
    private var isOver = false
    /// Bytes of the request body.
    private var sent: Int64 = 0
    private var highest: Int64 = 0
    private var percentage = 0

    /// Nil without a token.
    init?(_ options: ProgressOptions, method: String, url: String) {
        guard !options.isEmpty else { return nil }
        self.options = options
        // a query may hold secrets, and makes long titles
        title = "\(method) \(url.prefix { $0 != "?" && $0 != "#" })"
    }

    mutating func begin() -> [Told] {
        guard !isBegun, let token = options.workDoneToken else { return [] }
        isBegun = true
        return [work(token, Work(kind: "begin", title: title, percentage: 0), mayBeLost: false)]
    }

    mutating func moved(_ report: ProgressReport) -> [Told] {
        var (done, total) = Self.count(report)
        if report.direction == .upload {
            sent = done
        } else {
            done &+= sent
            total = total.map { $0 &+ sent }
        }
        var told: [Told] = []
        if let token = options.progressToken, done > highest {
            let shape = Progress(token: token, progress: done, total: total, message: report.words)
            told.append(
                Told(
                    event: Event("notifications/progress", shape), key: "notifications/progress",
                    mayBeLost: !report.isLast))
        }
        highest = max(highest, done)
        if let token = options.workDoneToken, isBegun, !isOver {
            if let total, total > 0 {
                let part = Double(done) / Double(total) * 100
                percentage = max(percentage, Int(min(max(part, 0), 100)))
            }
            let work = Work(kind: "report", percentage: total == nil ? nil : percentage, message: report.words)
            told.append(self.work(token, work, mayBeLost: true))
        }
        return told
    }

    mutating func end(_ failure: String?) -> [Told] {
        guard isBegun, !isOver, let token = options.workDoneToken else { return [] }
        isOver = true
        return [work(token, Work(kind: "end", message: failure), mayBeLost: false)]
    }

    private func work(_ token: ProgressToken, _ work: Work, mayBeLost: Bool) -> Told {
        Told(event: Event("$/progress", WorkDone(token: token, value: work)), key: "$/progress", mayBeLost: mayBeLost)
    }

    /// The bytes on the wire, if only these have a known total.
    private static func count(_ report: ProgressReport) -> (done: Int64, total: Int64?) {
        if report.total == nil || report.isEstimated, let wire = report.wire, let total = wire.total {
            return (wire.completed, total)
        }
        return (report.completed, report.total)
    }
}

private struct WorkDone: ObjectShape {
    var token: ProgressToken
    var value: Work

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("token", token)
        writer.member("value", value)
    }
}

private struct Work: ObjectShape {
    var kind: String
    var title: String?
    var percentage: Int?
    var message: String?

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("kind", kind)
        writer.member("title", title)
        if kind == "begin" { writer.member("cancellable", false) }
        writer.member("percentage", percentage)
        writer.member("message", message)
    }
}

private struct Progress: ObjectShape {
    var token: ProgressToken
    var progress: Int64
    var total: Int64?
    var message: String?

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("progressToken", token)
        writer.member("progress", progress)
        writer.member("total", total)
        writer.member("message", message)
    }
}
