// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct TrustRulesTests {
    @Test(arguments: [
        ("api.example.com", "api.example.com", true), ("API.Example.com", "api.example.com", true),
        ("api.example.com", "api.example.com.", true), ("api.example.com", "example.com", false),
        ("*.example.com", "a.example.com", true), ("*.example.com", "a.b.example.com", false),
        ("*.example.com", "example.com", false), ("**.example.com", "a.b.example.com", true),
        ("**.example.com", "example.com", false), ("*", "any.test", true),
        ("*.bücher.test", "a.xn--bcher-kva.test", true),
        ("127.0.0.1", "127.0.0.1", true), ("[::1]", "::1", true), ("[::1]:443", "::1", true),
        ("api.example.com:8443", "api.example.com", false), ("*.example.com", "xexample.com", false),
    ])
    func `a pattern covers its hosts [V12]`(pattern: String, host: String, covers: Bool) {
        #expect(HostPattern(pattern)?.covers(host: host, port: 443) == covers)
    }

    @Test(arguments: [
        "", "a b", "*example.com", "a.*.com", "***.example.com", "example.com:0", "example.com:x", "http://a", "a/b",
        "u@a",
    ])
    func `what is no pattern is refused`(text: String) {
        #expect(HostPattern(text) == nil)
    }

    @Test func `the most specific pattern counts`() throws {
        let texts = ["*", "**.test", "**.b.test", "*.b.test", "a.b.test", "*:8443"]
        let table = HostTable(try texts.map { (try #require(HostPattern($0)), $0) })
        #expect(table.value(host: "a.b.test", port: 443) == "a.b.test")
        #expect(table.value(host: "a.b.test", port: 8443) == "*:8443")
        #expect(table.value(host: "c.b.test", port: 443) == "*.b.test")
        #expect(table.value(host: "d.c.b.test", port: 443) == "**.b.test")
        #expect(table.value(host: "x.test", port: 443) == "**.test")
        #expect(table.value(host: "else", port: 443) == "*")
    }

    @Test func `names of certificates`() {
        var names = ServerNames()
        names.hosts = ["*.wild.test", "Exact.test", "*.test", "*", "part*.test"]
        names.addresses = [[127, 0, 0, 1]]
        #expect(
            names.cover("a.wild.test") && names.cover("exact.test") && names.cover("exact.test.")
                && names.cover("127.0.0.1"))
        #expect(!names.cover("a.b.wild.test") && !names.cover("wild.test") && !names.cover("bank.test"))
        // lower case makes a k of the sign of kelvin
        names.hosts = ["\u{212A}.wild.test", "*.\u{212A}ild.test"]
        #expect(!names.cover("k.wild.test") && !names.cover("a.kild.test"))
        #expect(!names.cover("127.0.0.2") && !names.cover("partly.test") && !names.cover(""))
    }

    @Test func `pins in every form`() {
        let digits = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        #expect(PublicKeyPin(parsing: "sha256/\(digits)") == PublicKeyPin(parsing: "sha256//\(digits)"))
        #expect(PublicKeyPin(parsing: "sha256/\(digits)")?.description == "sha256/\(digits)")
        // the first digit may be a slash itself
        let slash = "/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        #expect(PublicKeyPin(parsing: "sha256/\(slash)")?.description == "sha256/\(slash)")
        for text in [
            "", "sha256/", "sha256/AAAA", "sha1/\(digits)",
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
        ] {
            #expect(PublicKeyPin(parsing: text) == nil)
        }
    }

    @Test func `blocks of PEM between other text`() {
        let text =
            "note\n-----BEGIN A-----\r\nProc-Type: 4,ENCRYPTED\r\n\r\nAQID\r\n-----END A-----\n-----BEGIN B-----\n!\n-----END B-----"
        let blocks = PEMBlock.all(in: text)
        #expect(blocks.map(\.label) == ["A"])
        #expect(blocks.first?.headers == ["Proc-Type: 4,ENCRYPTED"])
        #expect(blocks.first?.bytes == [1, 2, 3])
        // a byte order mark hid the first block of a file
        #expect(PEMBlock.all(in: "\u{FEFF}-----BEGIN A-----\nAQID\n-----END A-----").map(\.bytes) == [[1, 2, 3]])
        let written = PEMBlock.certificate([UInt8](repeating: 7, count: 100))
        #expect(PEMBlock.all(in: written).first?.bytes == [UInt8](repeating: 7, count: 100))
    }

    @Test func `every prefix of a ServerHello asks for more`() {
        let random = [UInt8](repeating: 9, count: 32)
        let share: [UInt8] = [0, 51, 0, 4, 0x11, 0xEC, 0, 0]
        let body = [3, 3] + random + [0, 0x13, 0x01, 0] + [0, UInt8(share.count)] + share
        let message: [UInt8] = [2, 0, 0, UInt8(body.count)] + body
        let record = [22, 3, 3, 0, UInt8(message.count)] + message
        for count in 0..<record.count {
            var scanner = ServerHelloScanner()
            #expect(scanner.scan(record.prefix(count)) == .more)
            let rest = record.dropFirst(count) + [23, 3, 3, 0, 1, 0]
            #expect(scanner.scan(rest) == .found(ServerHello(cipher: 0x1301, group: 0x11EC)))
        }
        var scanner = ServerHelloScanner()
        #expect(scanner.scan(Array("HTTP/1.1 400".utf8)) == .unreadable)
        #expect(ServerHello(cipher: 0x1301, group: 0x11EC).groupName == "X25519MLKEM768")
    }

    @Test(arguments: [
        ("", nil), ("\u{16}\u{3}\u{3}", nil), ("\u{15}\u{3}\u{3}", nil), ("HTTP/1.0 400", PlainPeer.http),
        ("SSH-2.0-x", .other), ("\u{0}", .other),
    ])
    func `the first bytes of a server tell whether it speaks TLS`(text: String, plain: PlainPeer?) {
        #expect(PlainPeer(firstBytes: Array(text.utf8)) == plain)
    }

    @Test func `broken DER ends without a trap`() {
        for bytes: [UInt8] in [
            [], [0x30], [0x30, 0x80], [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], [0x1F, 1], [0x30, 5, 1],
        ] {
            var scanner = DERScanner(bytes)
            #expect(scanner.next() == nil)
            #expect(CRLScanner(bytes) == nil && CertificateScanner(bytes) == nil)
        }
    }

    @Test func `a revocation list with an entry that is no entry cannot be used`() {
        let date = der(0x17, Array("260101000000Z".utf8))
        let first = der(0x30, der(0x02, [1]) + date)
        let second = der(0x30, der(0x02, [2]) + date)
        #expect(CRLScanner(list(first + second))?.entry(of: [2]) != nil)
        #expect(CRLScanner(list(first + second))?.scope.isForeign == false)
        for bad in [der(0x02, [7]), der(0x30, date), [0x30, 0x7F]] {
            #expect(CRLScanner(list(first + bad + second)) == nil, "\(bad)")
        }
    }

    @Test(arguments: [(0xFF, true), (0x01, true), (0x00, false)] as [(UInt8, Bool)])
    func `every byte but zero makes an extension of a list critical`(byte: UInt8, isForeign: Bool) {
        let one = der(0x30, der(0x06, [0x55, 0x1D, 0x1B]) + der(0x01, [byte]) + der(0x04, [0x30, 0x00]))
        let first = der(0x30, der(0x02, [1]) + der(0x17, Array("260101000000Z".utf8)))
        #expect(CRLScanner(list(first, extensions: one))?.scope.isForeign == isForeign)
    }

    @Test func `a list of another kind of certificates, or an indirect one, says nothing`() {
        func scope(_ point: [UInt8]) -> CRLScope? {
            let value = der(0x04, der(0x30, point))
            let one = der(0x30, der(0x06, [0x55, 0x1D, 0x1C]) + der(0x01, [0xFF]) + value)
            return CRLScanner(list([], extensions: one))?.scope
        }
        #expect(scope([])?.isForeign == false)
        #expect(scope(der(0x81, [0xFF]))?.isForeign == false)
        #expect(scope(der(0xA0, der(0xA0, der(0x86, Array("http://a.test/".utf8)))))?.isForeign == false)
        #expect(scope(der(0x84, [0xFF]))?.isForeign == true)
        #expect(scope(der(0x84, [0x00]))?.isForeign == false)
        #expect(scope(der(0x85, [0xFF]))?.isForeign == true)
        #expect(scope(der(0x86, [0xFF]))?.isForeign == true)
    }

    private func der(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        contents.count < 128
            ? [tag, UInt8(contents.count)] + contents : [tag, 0x81, UInt8(contents.count)] + contents
    }

    /// An unsigned list in DER with those entries.
    private func list(_ entries: [UInt8], extensions: [UInt8] = []) -> [UInt8] {
        let algorithm = der(0x30, der(0x06, [0x2B, 0x65, 0x70]))
        let dates = der(0x17, Array("260101000000Z".utf8)) + der(0x17, Array("270101000000Z".utf8))
        let more = extensions.isEmpty ? [] : der(0xA0, der(0x30, extensions))
        let fields = der(0x02, [1]) + algorithm + der(0x30, []) + dates + der(0x30, entries) + more
        return der(0x30, der(0x30, fields) + algorithm + der(0x03, [0]))
    }

    @Test func `a request's own trust stays with its origin [V8]`() throws {
        let url = try HTTPURL(parsing: "https://a.test/")
        var own = SecurityPlan.Own()
        own.policy = TrustPolicy.none
        own.connectTo = ConnectTarget("127.0.0.1:1")
        let plan = SecurityPlan(own, for: url, over: .standard)
        #expect(try plan.security(for: url).policy == .none && plan.target(for: url) != nil)
        for other in ["https://b.test/", "https://a.test:444/", "http://a.test/"] {
            let other = try HTTPURL(parsing: other)
            #expect(try plan.security(for: other).policy == .default && plan.target(for: other) == nil)
        }
        #expect(try SecurityPlan.standard.security(for: url) === ConnectionSecurity.standard)
    }

    @Test func `a request's own roots do not judge a proxy`() throws {
        var table = SecurityPlan.Table()
        table.settings.roots = RootsSpec(file: "/session.pem")
        var own = SecurityPlan.Own()
        own.settings.roots = RootsSpec(file: "/request.pem")
        own.settings.minVersion = .v13
        let url = try HTTPURL(parsing: "https://api.test/")
        let session = SecurityPlan(table, over: .standard)
        let proxy = ProxyServer(.https, at: try HTTPURL(parsing: "https://proxy.test:3128"))
        let security = try SecurityPlan(own, for: url, over: session).security(for: url, proxy: proxy)
        #expect(security.roots.file == "/request.pem" && security.forProxy.roots.file == "/session.pem")
        #expect(security.forProxy.settings.minVersion == nil)
        var other = own
        other.settings.minVersion = nil
        let elsewhere = try SecurityPlan(other, for: url, over: .standard).security(for: url, proxy: proxy)
        #expect(elsewhere.forProxy.roots.file == nil && elsewhere != security)
    }

    @Test func `a table that needs a policy for every host [V1]`() throws {
        var table = SecurityPlan.Table()
        table.hosts = HostTable([(try #require(HostPattern("a.test")), TrustPolicy.none)])
        let strict = SecurityPlan(table, over: .standard)
        #expect(try strict.security(for: HTTPURL(parsing: "https://a.test/")).policy == .none)
        #expect(throws: HTTPFailure.self) { try strict.security(for: HTTPURL(parsing: "https://b.test/")) }
        table.allHostsMustBeEvaluated = false
        let mild = SecurityPlan(table, over: .standard)
        #expect(try mild.security(for: HTTPURL(parsing: "https://b.test/")).policy == .default)
        // plain http is never judged
        #expect(try strict.security(for: HTTPURL(parsing: "http://b.test/")) === ConnectionSecurity.standard)
    }
}
