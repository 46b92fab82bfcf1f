// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import Testing

@testable import OutriderTransport

/// Which bridges lead beyond this machine.
struct InterfaceKindTests {
    /// Makes folders as of sysfs, and tells whether `way` is a bridge of this machine alone.
    private func isInner(_ folders: [String]) throws -> Bool {
        var template = Array("/tmp/outrider-interfaces-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        let root = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var made = [root]
        defer { for path in made.reversed() { rmdir(path) } }
        for folder in folders {
            var path = root
            for name in folder.split(separator: "/") {
                path += "/\(name)"
                if mkdir(path, 0o700) == 0 { made.append(path) }
            }
        }
        return InterfaceKind.isInner("way", in: root)
    }

    @Test func `a bridge to containers and virtual machines alone leads nowhere`() throws {
        #expect(try isInner(["way/bridge"]))
        #expect(try isInner(["way/bridge", "way/lower_veth0", "way/lower_tap0/queues"]))
    }

    @Test(arguments: ["lower_eth0", "lower_eth0.7/lower_eth0", "lower_bond0.7/lower_bond0/lower_eth1"])
    func `a bridge with a device leads out`(port: String) throws {
        #expect(try !isInner(["way/bridge", "way/lower_veth0", "way/\(port)/device"]))
    }

    @Test func `other interfaces lead out`() throws { #expect(try !isInner(["way/lower_eth0"])) }
}
