// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// Against the examples that AWS publishes: its test suite, and the pages of S3.
@Suite struct AWSSignatureTests {
    private static func signed(
        _ method: String, _ url: String, _ fields: HTTPFields = [], body: String = "", service: String = "service"
    ) throws -> [String: String] {
        let isOfS3 = service == "s3"
        let signature = AWSSignature(
            key: isOfS3 ? "AKIAIOSFODNN7EXAMPLE" : "AKIDEXAMPLE",
            secret: "wJalrXUtnFEMI/K7MDENG\(isOfS3 ? "/" : "+")bPxRfiCYEXAMPLEKEY", region: "us-east-1",
            service: service)
        let added = signature.fields(
            method: method, url: try HTTPURL(parsing: url), fields: fields, hash: DigestAlgorithm.sha256.hash(body),
            now: isOfS3 ? 1_369_353_600 : 1_440_938_160)
        return Dictionary(added.map { ($0.name, $0.value) }) { one, _ in one }
    }

    private static let host = "https://example.amazonaws.com"

    @Test(
        "requests of the test suite have its signatures",
        arguments: [
            ("/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            ("/?Param2=value2&Param1=value1", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
            // sent as %E1%88%B4, which the server encodes once more
            ("/\u{1234}", "697b34846207a3f72246f99d74ae1ee4fe54f44bb06730c58a0d339eb079596d"),
            ("//", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ])
    func get(target: String, signature: String) throws {
        let added = try Self.signed("GET", Self.host + target)
        #expect(
            added == [
                "X-Amz-Date": "20150830T123600Z",
                "Authorization": """
                AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
                SignedHeaders=host;x-amz-date, Signature=\(signature)
                """,
            ])
    }

    @Test("the type of a body is signed") func post() throws {
        let added = try Self.signed(
            "POST", Self.host + "/", [.init("Content-Type", "application/x-www-form-urlencoded")], body: "Param1=value1"
        )
        #expect(
            added["Authorization"]?.hasSuffix(
                "content-type;host;x-amz-date, Signature="
                    + "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a") == true)
    }

    @Test(
        "requests to S3 have the signatures of its pages",
        arguments: [
            ("lifecycle", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
            ("max-keys=2&prefix=J", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
        ])
    func bucket(query: String, signature: String) throws {
        let added = try Self.signed("GET", "https://examplebucket.s3.amazonaws.com/?\(query)", service: "s3")
        #expect(added["X-Amz-Content-Sha256"] == DigestAlgorithm.sha256.hash(""))
        #expect(
            added["Authorization"]?.hasSuffix(
                "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=\(signature)") == true)
    }

    @Test("a time and a hash of the caller stay") func given() throws {
        let fields: HTTPFields = [
            .init("x-amz-date", "20150830T123600Z"), .init("X-AMZ-Content-SHA256", AWSSignature.unsigned),
        ]
        let added = try Self.signed("PUT", "https://a.s3.amazonaws.com/b%20c", fields, service: "s3")
        #expect(added.keys.sorted() == ["Authorization"])
        #expect(added["Authorization"]?.contains("/20150830/us-east-1/s3/") == true)
    }
}
