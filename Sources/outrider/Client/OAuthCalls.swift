// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Calls about credentials, whose failures are sentences for people.
extension ServiceClient {
    /// The result. An error of the call ends the command: with 11 where a credential, a server or a person is at fault, also
    /// where there is no such credential, else with 1.
    mutating func result(
        _ method: String, _ params: JSONObject, within seconds: Double = 60
    ) throws(CommandFailure) -> JSONObject {
        let reply = try call(method, JSONText(written: JSONWriter.bytes(of: params)), by: Deadline(after: seconds))
        let value = try reply.parsed().object ?? [:]
        guard reply.error != nil else { return value }
        if value["code"]?.integer == Self.unknownHandle, let name = params["credential"]?.string {
            throw CommandFailure(
                code: Self.unauthorized,
                "there is no credential named \(FieldRules.shown(name)): make it with `outrider login NAME --client-id "
                    + "ID` and --issuer URL or --call URL, or with `outrider credentials import`")
        }
        let inner = value["data"]?.object?["failure"]?.object
        var failure = CommandFailure(
            code: inner == nil ? CommandFailure.Status.error.rawValue : Self.unauthorized,
            CommandFailure.inShell(value["message"]?.string ?? "\(method) failed"))
        failure.reason = inner?["data"]?.object?["oauth"]?.object?["reason"]?.string
        throw failure
    }

    private static let unknownHandle: Int64 = -32012

    /// The exit status where there is no token, as for failures of authentication in `outrider call`.
    static var unauthorized: Int32 { 11 }

    /// The access token of a credential: its text, its type and its end (RFC 3339).
    mutating func token(
        of name: String, minValidity: Double?
    ) throws(CommandFailure) -> (token: String, type: String, expires: String?) {
        var params: JSONObject = ["credential": .string(name)]
        if let minValidity { params["minValidity"] = .real(minValidity) }
        let result = try result("oauth.token", params)
        guard let token = result["accessToken"]?.string else {
            throw CommandFailure(.brokeProtocol, "the result of oauth.token holds no token")
        }
        return (token, result["tokenType"]?.string ?? "Bearer", result["expiresAt"]?.string)
    }
}

extension ServiceClient {
    /// Whether a token of that credential may go to that URL: only to one of its origins. If not, standard error says so.
    mutating func mayHave(_ name: String, _ text: String) throws(CommandFailure) -> Bool {
        guard let url = try? HTTPURL(parsing: text) else {
            throw CommandFailure(.usage, "\(FieldRules.shown(text)) is no URL")
        }
        let info = try result("oauth.get", ["credential": .string(name)])
        let origins = info["origins"]?.array?.compactMap(\.string) ?? []
        let isOne = origins.contains { origin in
            (try? HTTPURL(parsing: origin)).map { $0.isSameOrigin(as: url) } ?? false
        }
        if !isOne {
            let all = (origins + [url.origin]).map { "\"\($0)\"" }.joined(separator: ",")
            StandardError.line(
                "outrider: \(url.origin) is no origin of \(name) (outrider call oauth.set credential=\(name) "
                    + "origins:='[\(all)]')")
        }
        return isOne
    }
}
