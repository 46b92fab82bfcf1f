// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Writes what happens to a request in curl's manner: `*` for events, `>` for what was sent, `<` for what came. The service masks
/// secrets before it tells them.
final class VerboseLog {
    private static let topics = [
        "request.prepared", "request.redirected", "request.retrying", "request.finished", "attempt.connected",
        "attempt.answered", "attempt.informed", "credential.used",
    ]

    /// The version where TLS agrees upon none.
    private let plainVersion: String
    /// Heads that are written when their connection is known, by request.
    private var prepared: [String: JSONObject] = [:]

    init(plainVersion: String) { self.plainVersion = plainVersion }

    /// Subscribes to the events of this connection.
    static func subscribe(over client: inout ServiceClient, by deadline: Deadline) throws(CommandFailure) {
        _ = try client.object("events.subscribe", ["topics": .array(topics.map { .string($0) })], by: deadline)
    }

    /// Takes an event; only monitor events are written.
    func receive(_ line: [UInt8]) {
        guard let message = try? JSONParser.parse(line, limits: .generous).object,
            message["method"]?.string == "event.monitor", let params = message["params"]?.object,
            let detail = params["detail"]?.object
        else { return }
        let text = text(of: params["topic"]?.string ?? "", detail, params["request"]?.string ?? "")
        if !text.isEmpty { StandardError.write(text) }
    }

    private func text(of topic: String, _ detail: JSONObject, _ request: String) -> String {
        switch topic {
        case "request.prepared":
            prepared[request] = detail
            return ""
        case "attempt.connected":
            let version = detail["alpn"]?.string.map { $0 == "h2" ? "2" : "1.1" } ?? plainVersion
            return "* \(connected(detail))\n" + (prepared.removeValue(forKey: request).map { sent($0, version) } ?? "")
        case "attempt.answered": return sent(request) + came(detail)
        case "attempt.informed": return came(detail)
        case "request.redirected":
            return "* Redirect (\(number(detail, "status"))) to \(word(detail, "to"))\n"
        case "request.retrying": return "* Attempt \(number(detail, "attempt")) is given up; another one follows\n"
        case "credential.used":
            return "* Signed for \(word(detail, "username")) by \(word(detail, "scheme"))\n"
        case "request.finished": return sent(request)
        default: return ""
        }
    }

    /// A head without a connection of its own: from a cache, or of a request that failed before.
    private func sent(_ request: String) -> String {
        prepared.removeValue(forKey: request).map { sent($0, plainVersion) } ?? ""
    }

    private func connected(_ detail: JSONObject) -> String {
        let reused = detail["reused"] == .bool(true) ? " again" : ""
        let tls = detail["tlsVersion"]?.string.map { ", \($0)" } ?? ""
        return "Connected\(reused) to \(word(detail, "remote"))\(tls)"
    }

    private func sent(_ detail: JSONObject, _ version: String) -> String {
        let text = detail["url"]?.string ?? ""
        let url = try? HTTPURL(parsing: text)
        let named = (detail["headers"]?.array ?? []).contains { $0.object?["name"]?.string?.lowercased() == "host" }
        let host = named ? "" : url.map { "> Host: \($0.authority.printable)\n" } ?? ""
        let line = "> \(word(detail, "method")) \((url?.target ?? text).printable) HTTP/\(version)\n"
        return line + host + fields(detail, ">") + ">\n"
    }

    private func came(_ detail: JSONObject) -> String {
        let version = detail["httpVersion"]?.string ?? "1.1"
        return "< HTTP/\(version) \(number(detail, "status"))\n" + fields(detail, "<") + "<\n"
    }

    private func fields(_ detail: JSONObject, _ mark: String) -> String {
        (detail["headers"]?.array ?? []).compactMap(\.object).map { field in
            "\(mark) \(word(field, "name")): \(word(field, "value"))\n"
        }.joined()
    }

    private func word(_ object: JSONObject, _ name: String) -> String { (object[name]?.string ?? "").printable }

    private func number(_ object: JSONObject, _ name: String) -> Int64 { object[name]?.integer ?? 0 }
}
