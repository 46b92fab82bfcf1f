// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

struct AddressPolicyTests {
    private func url(_ host: String) throws -> HTTPURL { try HTTPURL(parsing: "http://\(host)/") }

    @Test(
        "the addresses of cloud metadata are known in every form",
        arguments: [
            "169.254.169.254", "169.254.1.1", "100.100.100.200", "[fe80::1]", "[fd00:ec2::254]", "[fd20:ce::254]",
            "[::ffff:169.254.169.254]", "[::169.254.169.254]", "[::ffff:0:169.254.169.254]",
            "[64:ff9b::169.254.169.254]",
            "[64:ff9b:1::169.254.169.254]", "[2002:a9fe:a9fe::1]", "[2001:0:1:2:3:4:5601:5601]",
            "[2001:db8::5efe:169.254.169.254]", "0xa9fea9fe",
        ])
    func metadata(host: String) throws {
        #expect(AddressPolicy.notMetadata.permits(hostOf: try url(host)) == false)
        #expect(AddressPolicy.publicOnly.permits(hostOf: try url(host)) == false)
        #expect(AddressPolicy.any.permits(hostOf: try url(host)))
    }

    @Test(
        "what is not in the public internet is no metadata",
        arguments: [
            "127.0.0.1", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "0.0.0.0",
            "198.18.0.1",
            "198.51.100.1", "203.0.113.1", "224.0.0.1", "255.255.255.255", "192.0.0.1", "[::1]", "[::]", "[fd12::1]",
            "[fc00::1]", "[ff02::1]", "[2001:db8::1]", "[::ffff:10.0.0.1]", "[2002:c0a8:101::1]", "[64:ff9b::10.0.0.1]",
            "[100::1]", "[fec0::1]", "[4000::1]", "localhost", "a.localhost",
        ])
    func special(host: String) throws {
        #expect(AddressPolicy.notMetadata.permits(hostOf: try url(host)))
        #expect(AddressPolicy.publicOnly.permits(hostOf: try url(host)) == false)
    }

    @Test(
        "public addresses are permitted, and names are judged after their lookup",
        arguments: [
            "8.8.8.8", "172.32.0.1", "100.63.0.1", "169.253.0.1", "[2606:4700::1111]", "[2001:4860:4860::8888]",
            "[::ffff:8.8.8.8]", "[64:ff9b::8.8.8.8]", "example.org",
        ])
    func global(host: String) throws {
        #expect(AddressPolicy.publicOnly.permits(hostOf: try url(host)))
    }

    @Test func `a redirect to another origin guards the metadata addresses from then on`() throws {
        var attempt = Attempt(method: "GET", url: try url("a.test"), fields: [])
        let same = try RedirectPolicy.follow.next(after: 302, [.init("Location", "/b")], to: attempt, hops: 0)
        #expect(same?.attempt.addresses == .any)
        let other = try RedirectPolicy.follow.next(
            after: 302, [.init("Location", "http://b.test/")], to: attempt, hops: 0)
        #expect(other?.attempt.addresses == .notMetadata)
        attempt.addresses = .publicOnly
        let kept = try RedirectPolicy.follow.next(
            after: 302, [.init("Location", "http://b.test/")], to: attempt, hops: 0)
        #expect(kept?.attempt.addresses == .publicOnly)
    }

    @Test(
        arguments: [
            ("8.8.8.8", true), ("127.0.0.1", true), ("[2606:4700::1111]", false), ("[::1]", false),
            ("[::ffff:8.8.8.8]", true), ("[::ffff:127.0.0.1]", true),
        ])
    func `a version of IP is the version of the written address, and a mapped address is IPv4`(
        host: String, isVersion4: Bool
    ) throws {
        #expect(AddressPolicy.ipv4.permits(hostOf: try url(host)) == isVersion4)
        #expect(AddressPolicy.ipv6.permits(hostOf: try url(host)) == !isVersion4)
        #expect(AddressPolicy.ipv4.permits(hostOf: try url("localhost")))
        #expect(AddressPolicy.ipv6.permits(hostOf: try url("example.org")))
    }

    @Test func `a redirect to another origin keeps the version of IP, and guards the metadata addresses`() throws {
        var attempt = Attempt(method: "GET", url: try url("a.test"), fields: [])
        for (before, after) in [(AddressPolicy.ipv4, AddressPolicy.ipv4NotMetadata), (.ipv6, .ipv6NotMetadata)] {
            attempt.addresses = before
            let other = try RedirectPolicy.follow.next(
                after: 302, [.init("Location", "http://b.test/")], to: attempt, hops: 0)
            #expect(other?.attempt.addresses == after)
            #expect(after.guarded == after)
        }
        #expect(!AddressPolicy.ipv4NotMetadata.permits(address: [169, 254, 169, 254]))
        #expect(AddressPolicy.ipv4.permits(address: [169, 254, 169, 254]))
    }

    @Test func `a refusal names what is wrong`() throws {
        let place = try url("b.test")
        let four = AddressPolicy.ipv4NotMetadata
        #expect(four.refusal(of: place, ["fd12::1"]).message.contains("b.test (fd12::1) has no IPv4 address"))
        #expect(four.refusal(of: place, ["169.254.169.254"]).message.contains("secrets of machines"))
        #expect(AddressPolicy.ipv6.refusal(of: try url("127.0.0.1"), []).message.contains("no IPv6 address"))
        #expect(AddressPolicy.ipv6.refusal(of: place, ["::ffff:127.0.0.1"]).message.contains("no IPv6 address"))
        #expect(AddressPolicy.publicOnly.refusal(of: place, ["10.0.0.1"]).message.contains("(addresses: public)"))
    }
}
