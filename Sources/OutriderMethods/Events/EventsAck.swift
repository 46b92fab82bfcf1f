// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Acknowledges events of a subscription with a window.
struct EventsAck: Method {
    static let name = "events.ack"

    struct Params: JSONDecodable {
        var subscription: Handle<Subscription>
        var number: Int

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let subscription: Handle<Subscription>? = try fields.optional("subscription")
            let number = try fields.integer("seq", in: 0...9_007_199_254_740_992)
            try fields.finish()
            self.subscription = try JSONFields.need("subscription", subscription)
            self.number = try JSONFields.need("seq", number)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONNothing {
        let subscription = try call.scope.handles.find(params.subscription, "subscription")
        switch subscription.acknowledge(params.number) {
        case true?: return JSONNothing()
        case false?:
            throw RPCError(
                .invalidParams, "event \(params.number) has not been given yet", data: ["pointer": .string("/seq")])
        case nil:
            throw RPCError(
                .wrongState, "nothing is to be acknowledged here: subscribe with window for that",
                data: ["pointer": .string("/subscription"), "state": .string("unbounded")])
        }
    }
}
