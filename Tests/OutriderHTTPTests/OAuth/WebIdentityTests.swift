// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// Temporary keys of AWS.
@Suite struct WebIdentityTests {
    private static func outcome(
        key: String = "<AccessKeyId>ASIA1</AccessKeyId>", expiration: String = "2030-01-01T00:00:00Z"
    ) -> WebIdentity.Outcome? {
        WebIdentity.outcome(
            Array(
                """
                <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
                  <AssumeRoleWithWebIdentityResult>
                    <SubjectFromWebIdentityToken>alice</SubjectFromWebIdentityToken>
                    <Credentials>
                      <SessionToken>
                        AQo/+
                        x==
                      </SessionToken>
                      <SecretAccessKey>s/k+</SecretAccessKey><Expiration>\(expiration)</Expiration>\(key)
                    </Credentials>
                  </AssumeRoleWithWebIdentityResult>
                  <ResponseMetadata><RequestId>1</RequestId></ResponseMetadata>
                </AssumeRoleWithWebIdentityResponse>
                """.utf8))
    }

    @Test func `keys are found, and lines that were broken are joined`() {
        let keys = WebIdentity.Keys(
            accessKeyID: "ASIA1", secretAccessKey: Secret("s/k+"), sessionToken: Secret("AQo/+x=="),
            expiration: "2030-01-01T00:00:00Z")
        #expect(Self.outcome() == .keys(keys))
        #expect("\(keys)".contains("s/k+") == false && "\(keys)".contains("AQo") == false)
    }

    @Test func `a response that lacks something, or says it wrongly, is none`() {
        #expect(Self.outcome(key: "") == nil)
        #expect(Self.outcome(key: "<AccessKeyId/>") == nil)
        #expect(Self.outcome(key: "<AccessKeyId>ASIÄ</AccessKeyId>") == nil)
        #expect(Self.outcome(expiration: "tomorrow") == nil)
        #expect(WebIdentity.outcome(Array("<html><body>502</body></html>".utf8)) == nil)
        #expect(WebIdentity.outcome([]) == nil)
    }

    @Test func `a refusal is told in the words of the service, and no others`() {
        let body =
            "<ErrorResponse><Error><Type>Sender</Type><Code>%</Code><Message>Not\u{1B}[31m authorized</Message></Error>"
        let refusal = { (code: String) in
            WebIdentity.outcome(Array((body.replacing("%", with: code) + "</ErrorResponse>").utf8))
        }
        #expect(refusal("AccessDenied") == .refused(code: "AccessDenied", message: "Not[31m authorized"))
        #expect(refusal("two words") == .refused(code: "unknown_error", message: "Not[31m authorized"))
        #expect(WebIdentity.wantsOtherToken("ExpiredTokenException") && !WebIdentity.wantsOtherToken("AccessDenied"))
    }

    @Test func `the form says what is wanted, and the token last`() {
        let form = WebIdentity.form(role: "r", session: "s", seconds: 900, token: Secret("t"))
        #expect(
            form.map { "\($0.name)=\($0.value.exposed)" }.joined(separator: "&")
                == "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=r&RoleSessionName=s&DurationSeconds=900"
                + "&WebIdentityToken=t")
    }

    @Test func `roles and sessions are told from other words`() {
        #expect(WebIdentity.isRole("arn:aws:iam::123456789012:role/dev"))
        #expect(WebIdentity.isRole("arn:aws-cn:iam::123456789012:role/a/b:c"))
        for text in [
            "", "dev", "arn:aws:iam::123456789012:user/dev", "arn:aws:s3::123456789012:role/dev",
            "arn:aws:iam::1:role/a b",
        ] {
            #expect(!WebIdentity.isRole(text), "\(text)")
        }
        #expect(WebIdentity.isSession("a.b@c-d_e=f,g") && !WebIdentity.isSession("a") && !WebIdentity.isSession("a/b"))
    }
}
