// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Writes what happens to a request in curl's manner: `*` for events, `>` for what was sent, `<` for what came. The service masks
/// secrets before it tells them.
struct VerboseLog {
    private static let topics = [
        "request.prepared", "request.redirected", "request.retrying", "attempt.connected", "attempt.answered",
        "attempt.informed", "credential.used",
    ]

    /// Asks the service to tell what happens on this connection.
    static func subscribe(over client: inout ServiceClient, by deadline: Deadline) throws(CommandFailure) {
        _ = try client.object("events.subscribe", ["topics": .array(topics.map { .string($0) })], by: deadline)
    }

    /// Takes one event as it came; only monitor events are written.
    func heard(_ line: [UInt8]) {
        guard let message = try? JSONParser.parse(line, limits: .generous).object,
            message["method"]?.string == "event.monitor", let params = message["params"]?.object,
            let detail = params["detail"]?.object
        else { return }
        let text: String
        switch params["topic"]?.string {
        case "request.prepared": text = sent(detail)
        case "attempt.answered", "attempt.informed": text = came(detail)
        case "attempt.connected": text = "* \(connected(detail))\n"
        case "request.redirected": text = "* Redirect (\(number(detail, "status"))) to \(word(detail, "to"))\n"
        case "request.retrying": text = "* Attempt \(number(detail, "attempt")) is given up; another one follows\n"
        case "credential.used": text = "* Signed for \(word(detail, "username")) by \(word(detail, "scheme"))\n"
        default: return
        }
        StandardError.write(text)
    }

    private func connected(_ detail: JSONObject) -> String {
        let reused = detail["reused"] == .bool(true) ? " again" : ""
        let tls = detail["tlsVersion"]?.string.map { ", \($0)" } ?? ""
        return "Connected\(reused) to \(word(detail, "remote"))\(tls)"
    }

    private func sent(_ detail: JSONObject) -> String {
        let url = detail["url"]?.string ?? ""
        let target = (try? HTTPURL(parsing: url))?.target ?? url
        return "> \(word(detail, "method")) \(target.printable) HTTP\n" + fields(detail, ">") + ">\n"
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
