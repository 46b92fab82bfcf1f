// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import OutriderJSON

/// The text of `--write-out`: curl's variables, as far as the service knows their values.
struct WriteOut {
    /// A transfer, after its end.
    struct Outcome {
        /// The Response of `request.wait`; nil where no request was made.
        var response: JSONObject?
        var failure: CommandFailure?
        /// The bytes of the body that this command wrote.
        var written: Int64 = 0
        var filename: String?
        var urlNumber = 0
        /// The attempts before the request of the response, whose bodies broke off.
        var earlierAttempts = 0
    }

    private let format: String

    /// - Parameter format: the text, or `@file`.
    init(_ format: String) throws(CommandFailure) {
        guard format.hasPrefix("@") else {
            self.format = format
            return
        }
        // as with curl, `\n` alone ends a line of the output: a file for reading has line ends of its own
        let text = try StandardInput.text(of: String(format.dropFirst())).unicodeScalars
        self.format = String(text.filter { !["\r", "\n", "\0"].contains($0) })
    }

    /// The variables of the text that do not exist, in their order.
    var unknown: [String] {
        var names: [String] = []
        var rest = format[...]
        while let character = rest.popFirst() {
            if character == "\\" || (character == "%" && rest.first == "%") {
                _ = rest.popFirst()
            } else if character == "%", let (name, left) = Self.variable(rest) {
                rest = left
                let isKnown = Self.switches.contains(name) || Outcome().value(name) != nil
                if !isKnown, !names.contains(name) { names.append(name) }
            }
        }
        return names
    }

    private static let switches: Set = ["onerror", "stderr", "stdout"]

    /// Writes the text, with `%{stderr}` and `%{stdout}` as switches.
    func write(_ outcome: Outcome) throws(CommandFailure) {
        var toError = false
        for (text, isError) in pieces(outcome, &toError) where !text.isEmpty {
            if isError {
                StandardError.write(text)
            } else if !Array(text.utf8).withUnsafeBytes({ FileBytes.write($0, to: STDOUT_FILENO) }) {
                throw CommandFailure(.error, "cannot write to standard output: \(systemError(errno))")
            }
        }
    }

    private func pieces(_ outcome: Outcome, _ toError: inout Bool) -> [(String, Bool)] {
        var pieces: [(String, Bool)] = []
        var text = ""
        var rest = format[...]
        while let character = rest.popFirst() {
            if character == "\\", let next = rest.popFirst() {
                text += ["n": "\n", "r": "\r", "t": "\t"][next] ?? "\\\(next)"
            } else if character == "%", let (name, left) = Self.variable(rest) {
                rest = left
                if name == "onerror", outcome.failure == nil { break }
                if name == "stderr" || name == "stdout" {
                    pieces.append((text, toError))
                    text = ""
                    toError = name == "stderr"
                } else {
                    text += outcome.value(name) ?? ""
                }
            } else if character == "%", rest.first == "%" {
                rest = rest.dropFirst()
                text += "%"
            } else {
                text.append(character)
            }
        }
        return pieces + [(text, toError)]
    }

    /// `{name}`, `header{name}`, or `output{file}`, which is no variable here.
    private static func variable(_ text: Substring) -> (name: String, left: Substring)? {
        let prefix = ["header", "output"].first { text.hasPrefix("\($0){") } ?? ""
        let inner = text.dropFirst(prefix.count)
        guard inner.first == "{", let end = inner.firstIndex(of: "}") else { return nil }
        let name = inner[inner.index(after: inner.startIndex)..<end]
        return (prefix.isEmpty ? String(name) : "\(prefix){\(name)}", inner[inner.index(after: end)...])
    }
}

extension WriteOut.Outcome {
    /// Where a redirect leads that was not followed, as a whole URL.
    private var redirectTarget: String {
        let location = header("location")
        let status = response?["status"]?.integer ?? 0
        guard (300..<400).contains(status), !location.isEmpty else { return "" }
        let url = try? HTTPURL(parsing: response?["url"]?.string ?? "")
        return (try? url?.resolve(reference: location))?.description ?? location
    }

    /// Nil for a variable that does not exist.
    fileprivate func value(_ name: String) -> String? {
        if name.hasPrefix("header{") { return header(String(name.dropFirst("header{".count).dropLast())) }
        switch name {
        case "http_code", "response_code":
            let status = response?["status"]?.integer ?? 0
            return status > 0 ? String(status) : "000"
        case "url_effective", "url": return response?["url"]?.string ?? ""
        case "method": return response?["method"]?.string ?? ""
        case "scheme": return String((response?["url"]?.string ?? "").prefix { $0 != ":" }).uppercased()
        case "http_version": return httpVersion
        case "content_type": return header("content-type")
        case "redirect_url": return redirectTarget
        case "num_redirects": return String(response?["redirects"]?.array?.count ?? 0)
        case "num_retries": return String(earlierAttempts + max(0, attemptCount - 1))
        case "num_headers": return String(response?["headers"]?.array?.count ?? 0)
        case "num_connects": return String(hops.count { $0["reused"] == .bool(false) })
        case "size_download": return String(written)
        case "size_upload": return String(last("bytesSent").map { Int64($0) } ?? 0)
        case "size_header": return String(Int64(max(0, sum("bytesReceived") - sum("bodyBytes"))))
        case "speed_download": return rate(of: Double(written))
        case "speed_upload": return rate(of: last("bytesSent") ?? 0)
        case "filename_effective": return filename ?? ""
        case "urlnum": return String(urlNumber)
        case "exitcode": return String(failure?.code ?? 0)
        case "errormsg": return failure?.message ?? ""
        case "ssl_verify_result": return isTrusted ? "0" : "1"
        case "json": return String(decoding: JSONWriter.bytes(of: JSONValue.object(summary)), as: UTF8.self)
        case "header_json":
            return String(decoding: JSONWriter.bytes(of: JSONValue.object(headerLists)), as: UTF8.self)
        default: return remote(name) ?? time(name).map(Self.seconds)
        }
    }

    /// False if the certificate was refused, or not checked at all.
    private var isTrusted: Bool {
        failure?.code != 13 && response?["tls"]?.object?["verified"]?.string != "none"
    }

    /// Of the request of the response, at least 1.
    var attemptCount: Int { max(1, response?["attempts"]?.integer.flatMap { Int(exactly: $0) } ?? 1) }

    private var attempts: [JSONObject] {
        (response?["metrics"]?.object?["attempts"]?.array ?? []).compactMap(\.object)
    }

    private var total: Double { response?["metrics"]?.object?["total"]?.number ?? 0 }

    private func rate(of bytes: Double) -> String {
        total > 0 ? String(Int64(exactly: (bytes / total).rounded(.down)) ?? .max) : "0"
    }

    private func last(_ name: String) -> Double? { attempts.last?[name]?.number }

    /// The last attempt with its redirects, each of which is measured.
    private var hops: ArraySlice<JSONObject> { attempts.suffix(1 + (response?["redirects"]?.array?.count ?? 0)) }

    private func sum(_ name: String) -> Double { hops.reduce(0) { $0 + ($1[name]?.number ?? 0) } }

    private var httpVersion: String { response?["httpVersion"]?.string ?? "0" }

    private func header(_ name: String) -> String {
        let field = response?["headers"]?.array?.first {
            $0.object?["name"]?.string?.lowercased() == name.lowercased()
        }
        return field?.object?["value"]?.string ?? ""
    }

    private var headerLists: JSONObject {
        var lists = JSONObject()
        for field in response?["headers"]?.array ?? [] {
            guard let name = field.object?["name"]?.string?.lowercased(), let value = field.object?["value"] else {
                continue
            }
            lists[name] = .array((lists[name]?.array ?? []) + [value])
        }
        return lists
    }

    private func remote(_ name: String) -> String? {
        guard name == "remote_ip" || name == "remote_port" else { return nil }
        let remote = response?["remote"]?.string ?? ""
        guard let colon = remote.lastIndex(of: ":") else { return "" }
        if name == "remote_port" { return String(remote[remote.index(after: colon)...]) }
        return String(remote[..<colon]).filter { $0 != "[" && $0 != "]" }
    }

    /// curl counts each time from the beginning, and adds the times of redirects; the service measures phases.
    private func time(_ name: String) -> Double? {
        let names = ["dns", "connect", "proxy", "tls", "request", "firstByte"]
        let ends: [String: Int] = [
            "time_namelookup": 1, "time_connect": 2, "time_appconnect": 4, "time_pretransfer": 4,
            "time_starttransfer": 6,
        ]
        if name == "time_total" { return total }
        if name == "time_redirect" {
            // what else the total holds is no redirect
            let isRedirected = response?["redirects"]?.array?.isEmpty == false
            return isRedirected ? max(0, total - (last("total") ?? total)) : 0
        }
        guard let count = ends[name] else { return nil }
        if name == "time_appconnect", !hops.contains(where: { $0["tls"] != nil }) { return 0 }
        return names.prefix(count).reduce(sum("queue")) { $0 + sum($1) }
    }

    /// Six digits behind the point, as curl writes seconds.
    private static func seconds(_ value: Double) -> String {
        let micros = Int64(max(0, min(value, 1e9)) * 1e6)
        let fraction = String(micros % 1_000_000)
        return "\(micros / 1_000_000)." + String(repeating: "0", count: 6 - fraction.count) + fraction
    }

    private var summary: JSONObject {
        var summary = JSONObject()
        for name in [
            "content_type", "errormsg", "filename_effective", "http_version", "method", "redirect_url", "remote_ip",
            "scheme", "url_effective",
        ] { summary[name] = .string(value(name) ?? "") }
        for name in [
            "exitcode", "http_code", "num_connects", "num_headers", "num_redirects", "num_retries", "remote_port",
            "response_code", "size_download", "size_header", "size_upload", "speed_download", "speed_upload", "urlnum",
        ] { summary[name] = .integer(value(name).flatMap { Int64($0) } ?? 0) }
        for name in [
            "time_appconnect", "time_connect", "time_namelookup", "time_pretransfer", "time_redirect",
            "time_starttransfer", "time_total",
        ] { summary[name] = .real(time(name) ?? 0) }
        return summary
    }
}
