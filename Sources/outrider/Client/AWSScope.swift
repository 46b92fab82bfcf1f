// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import OutriderJSON

/// The word of `--aws-sigv4`: `aws:amz:REGION:SERVICE`, where a host such as `sqs.eu-west-1.amazonaws.com` names the
/// missing parts.
struct AWSScope {
    private let region: String?
    private let service: String?

    /// Nil for another provider.
    init?(_ word: String) {
        let parts = word.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard (2...4).contains(parts.count), parts[0] == "aws", parts[1] == "amz",
            !parts.contains(where: { $0.isEmpty || $0.contains("/") })
        else { return nil }
        region = parts.count > 2 ? parts[2] : nil
        service = parts.count > 3 ? parts[3] : nil
    }

    /// Adds the fields of the signature to a request, whose members are known otherwise.
    func sign(_ params: inout JSONObject, key: String, secret: String) throws(CommandFailure) {
        // the service tells of a wrong URL
        guard let url = try? HTTPURL(parsing: params["url"]?.string ?? "") else { return }
        let (region, service) = try place(of: url.hostName)
        let signature = AWSSignature(key: key, secret: secret, region: region, service: service)
        var fields = HTTPFields()
        for field in params["headers"]?.array ?? [] {
            fields.add(field.object?["name"]?.string ?? "", field.object?["value"]?.string ?? "")
        }
        if let date = fields.first(AWSSignature.dateName), !Self.isDate(date) {
            throw CommandFailure(
                .usage,
                "--aws-sigv4: X-Amz-Date must be such as 20150830T123600Z: leave out the field for the present time"
            )
        }
        Self.render(&params)
        let hash = try Self.hash(params["body"]?.object, isNamed: fields.contains(AWSSignature.hashName), signature)
        let added = signature.fields(
            method: params["method"]?.string ?? "GET", url: url, fields: fields, hash: hash, now: Int64(time(nil)))
        params["headers"] = .array(
            (params["headers"]?.array ?? [])
                + added.map { .object(["name": .string($0.name), "value": .string($0.value)]) })
    }

    private func place(of host: String) throws(CommandFailure) -> (region: String, service: String) {
        if let region, let service { return (region, service) }
        let labels = host.split(separator: ".").map(String.init)
        guard labels.count == 4, host.hasSuffix(".amazonaws.com") else {
            throw CommandFailure(
                .usage, "--aws-sigv4: \(host) does not name region and service: write aws:amz:REGION:SERVICE")
        }
        return (region ?? labels[1], labels[0])
    }

    private static func isDate(_ text: String) -> Bool {
        let bytes = text.utf8.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) ? UInt8(ascii: "0") : $0 }
        return bytes.elementsEqual("00000000T000000Z".utf8)
    }

    /// Makes a text of the JSON of items, so that the bytes that are signed are sent.
    private static func render(_ params: inout JSONObject) {
        guard var body = params["body"]?.object, let json = body["json"] else { return }
        body["json"] = nil
        body["text"] = .string(String(decoding: JSONWriter.bytes(of: json), as: UTF8.self))
        params["body"] = .object(body)
    }

    private static func hash(
        _ body: JSONObject?, isNamed: Bool, _ signature: AWSSignature
    ) throws(CommandFailure) -> String {
        var hash = DigestHash(.sha256)
        if let text = body?["text"]?.string {
            hash.update(Array(text.utf8))
        } else if let text = body?["base64"]?.string {
            hash.update(Base64.decode(text) ?? [])
        } else if let name = body?["file"]?.string {
            let file = open(name, O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { throw CommandFailure(.usage, "cannot read \(name): \(systemError(errno))") }
            defer { close(file) }
            while let piece = try FileBytes.read(file, named: name) { hash.update(piece) }
        } else if body != nil {
            if signature.isOfS3 || isNamed { return AWSSignature.unsigned }
            throw CommandFailure(
                .usage,
                "--aws-sigv4 signs no form of -F or name@FILE: write -d @FILE, or -H '\(AWSSignature.hashName): …'")
        }
        return hash.finish()
    }
}
