// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The protocol switch that an attempt requests: after a response with status 101, its connection carries bytes both
/// ways (RFC 9110 section 7.8). For other attempts, a 101 is an error.
package struct Upgrade: Sendable {
    /// The value of the Upgrade field.
    package let name: StaticString
    package let owner: any UpgradeOwner

    package static func webSocket(_ owner: any UpgradeOwner) -> Upgrade { Upgrade(name: "websocket", owner: owner) }
}

/// Receives the upgraded connection, on its event loop; must return quickly.
package protocol UpgradeOwner: AnyObject, Sendable {
    /// The head with status 101 has arrived. The following bytes are the body of the response.
    func upgraded(_ link: any UpgradeLink)

    /// The request is sent again, over another connection: after a challenge, or to the target of a redirect.
    func renew(_ fields: inout HTTPFields)
}

extension UpgradeOwner {
    package func renew(_ fields: inout HTTPFields) {}
}

/// The sending side of an upgraded connection. May be called from any thread.
package protocol UpgradeLink: AnyObject, Sendable {
    /// Runs the work on the event loop of the connection: at once if the caller is on that loop.
    func onLoop(_ work: @escaping @Sendable () -> Void)

    /// Runs the work on the event loop of the connection, behind all work that is due now.
    func soon(_ work: @escaping @Sendable () -> Void)

    /// Writes; on the loop only. `completion` is called on the loop with whether the kernel took the bytes.
    func write(_ bytes: [UInt8], _ completion: @escaping @Sendable (Bool) -> Void)

    /// Stops reading: the body of the response ends now. The connection closes when the server has closed its side, or
    /// after so many seconds.
    func finish(within seconds: Double)

    /// The reader is behind: reads are short until the reader has kept up for a while, so that little waits. On the loop
    /// only.
    func shortenReads()
}

extension UpgradeLink {
    package func shortenReads() {}
}
