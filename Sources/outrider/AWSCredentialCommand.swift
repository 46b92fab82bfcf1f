// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderHTTP
import OutriderJSON

/// The external credential process of the AWS CLI and SDKs (`credential_process`): temporary keys for a role.
struct AWSCredentialCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aws-credential-process",
        abstract: "Gives the AWS CLI temporary keys for the access token of a credential.",
        discussion: """
            Say in ~/.aws/config:
              [profile work]
              credential_process = outrider aws-credential-process work --role-arn arn:aws:iam::123456789012:role/dev

            The access token must be a JSON Web Token of an identity provider that the role trusts, and the credential must name \
            the endpoint among its origins (--origin https://sts.amazonaws.com of outrider login). The keys are asked for each \
            time, with AssumeRoleWithWebIdentity, and kept nowhere; AWS tools ask again before they end.

            Exit status: 0 the keys were printed; 1 to 6 as `outrider call`; 10 to 18 likewise, for the endpoint; 11 there is no \
            token, or the endpoint refuses it.
            """)

    @Argument(help: "The credential.")
    var name: String

    @Option(name: .customLong("role-arn"), help: "The role to take on.")
    var role: String

    @Option(name: .customLong("role-session-name"), help: "The name of the session in AWS's logs.")
    var session = "outrider"

    @Option(name: .long, help: "The region of the endpoint. Default: the global endpoint.")
    var region: String?

    @Option(name: .long, help: "Ask this endpoint, in place of AWS's own.")
    var endpoint: String?

    @Option(name: .long, help: "Seconds for which the keys shall last, 900 to 43200; the role may permit less.")
    var duration = 3600

    @OptionGroup var proxy: ProxyOptions

    @OptionGroup var service: ServiceOptions

    func validate() throws {
        if !WebIdentity.isRole(role) {
            throw ValidationError("--role-arn must be like arn:aws:iam::123456789012:role/name")
        }
        if !WebIdentity.isSession(session) {
            throw ValidationError("--role-session-name must have 2 to 64 letters, digits or characters of _=,.@-")
        }
        if !(900...43200).contains(duration) { throw ValidationError("--duration must be from 900 to 43200 seconds") }
        if region != nil, endpoint != nil { throw ValidationError("give only one of --region and --endpoint") }
        if let region, region.isEmpty || !region.utf8.allSatisfy(Self.isRegionByte) {
            throw ValidationError("--region must be like eu-central-1")
        }
        if let endpoint, (try? HTTPURL(parsing: endpoint))?.isFitForAuthorization != true {
            throw ValidationError("--endpoint must be an https URL, or one of this machine")
        }
    }

    func run() throws {
        var service = try service.connect(orPrivate: true)
        try check(&service.client)
        let first = try service.client.token(of: name, minValidity: nil).token
        let keys: WebIdentity.Keys
        switch try exchange(first, &service.client) {
        case .keys(let found): keys = found
        case .refused(let code, let message):
            guard WebIdentity.wantsOtherToken(code), let next = try other(than: first, &service.client),
                case .keys(let found) = try exchange(next, &service.client)
            else {
                throw CommandFailure(
                    code: ServiceClient.unauthorized,
                    "\(url) refuses the token of \(name) for \(role): \(code)\(message.isEmpty ? "" : ": \(message)")")
            }
            keys = found
        }
        let output: JSONObject = [
            "Version": .integer(1), "AccessKeyId": .string(keys.accessKeyID),
            "SecretAccessKey": .string(keys.secretAccessKey.exposed),
            "SessionToken": .string(keys.sessionToken.exposed), "Expiration": .string(keys.expiration),
        ]
        try StandardOutput.line(JSONWriter.bytes(of: output))
    }

    private func check(_ client: inout ServiceClient) throws(CommandFailure) {
        guard try client.mayHave(name, url) else { throw CommandFailure(code: ServiceClient.unauthorized, nil) }
    }

    private static func isRegionByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
        default: false
        }
    }

    private var url: String {
        if let endpoint { return endpoint }
        guard let region else { return "https://sts.amazonaws.com/" }
        return "https://sts.\(region).amazonaws.com\(region.hasPrefix("cn-") ? ".cn" : "")/"
    }

    /// The token after a refresh; nil if the refresh gives the same token.
    private func other(than refused: String, _ client: inout ServiceClient) throws(CommandFailure) -> String? {
        let result = try client.result("oauth.token", ["credential": .string(name), "refused": .string(refused)])
        return result["accessToken"]?.string.flatMap { $0 == refused ? nil : $0 }
    }

    private func exchange(_ token: String, _ client: inout ServiceClient) throws(CommandFailure) -> WebIdentity.Outcome
    {
        // the credential may have been replaced since the request for its token
        try check(&client)
        let form = WebIdentity.form(role: role, session: session, seconds: duration, token: Secret(token))
        let values: [JSONValue] = form.map { field in
            .object(["name": .string(field.name), "value": .string(field.value.exposed)])
        }
        var params: JSONObject = [
            "url": .string(url), "method": .string("POST"), "body": .object(["form": .array(values)]),
            "headers": .object(["Accept": .string("text/xml")]), "redirect": .string("none"), "timeout": .real(20),
        ]
        proxy.add(to: &params)
        try proxy.check(url)
        let response = try client.result("data.send", params)
        if response["ok"] == .bool(false) {
            let error = response["error"]?.object ?? [:]
            throw CommandFailure(
                code: FailureStatus.of(code: error["code"]?.integer ?? 0),
                "\(url): \(error["message"]?.string ?? "no response")")
        }
        // such responses are short: a missing inline body counts as empty
        let body = response["body"]?.object ?? [:]
        let bytes =
            body["text"]?.string.map { Array($0.utf8) } ?? body["base64"]?.string.flatMap { Base64.decode($0) } ?? []
        if let outcome = WebIdentity.outcome(bytes) { return outcome }
        let status = response["status"]?.integer.map { " (status \($0))" } ?? ""
        throw CommandFailure(.error, "\(url) does not respond like a Security Token Service\(status)")
    }
}
