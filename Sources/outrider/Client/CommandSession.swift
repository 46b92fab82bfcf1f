// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// What holds for all requests of a command, and for their redirects to other origins: a session that ends with the command.
struct CommandSession {
    private var members = JSONObject()

    /// - Parameters:
    ///   - places: `connectTo`.
    ///   - connectionsPerHost: a limit other than the service's.
    ///   - cookies: the jar.
    init(places: JSONObject, connectionsPerHost: Int? = nil, cookies: JSONValue? = nil) {
        if !places.isEmpty { members["connectTo"] = .object(places) }
        if let connectionsPerHost { members["connectionsPerHost"] = .integer(Int64(connectionsPerHost)) }
        if let cookies { members["cookies"] = cookies }
    }

    /// Makes the session, unless that of the service does as well, and adds the session to the params of requests.
    func add(to params: inout JSONObject, over client: inout ServiceClient) throws(CommandFailure) {
        if members.isEmpty { return }
        let made = try client.object("session.create", members, by: Deadline(after: 30))
        guard let session = made["session"] else {
            throw CommandFailure(.brokeProtocol, "the result names no session")
        }
        params["session"] = session
    }
}
