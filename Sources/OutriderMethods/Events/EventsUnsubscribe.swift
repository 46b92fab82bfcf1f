// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// The params of a method for a single subscription.
struct SubscriptionReference: JSONDecodable {
    var subscription: Handle<Subscription>

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let subscription: Handle<Subscription>? = try fields.optional("subscription")
        try fields.finish()
        self.subscription = try JSONFields.need("subscription", subscription)
    }
}

/// Ends a subscription: no event of the subscription follows the reply.
struct EventsUnsubscribe: Method {
    static let name = "events.unsubscribe"

    struct Result: JSONEncodable {
        var told: Int
        var dropped: Int

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("told", told)
                writer.member("dropped", dropped)
            }
        }
    }

    static func call(_ params: SubscriptionReference, _ call: Call<ClientScope>) async throws -> Result {
        let name = Handle<ReachabilitySubscription>(named: params.subscription.name)
        if let watch = try? call.scope.handles.find(name, "subscription") {
            call.scope.handles.remove(name)
            watch.close()
            return Result(told: watch.told, dropped: 0)
        }
        let subscription = try call.scope.handles.find(params.subscription, "subscription")
        call.scope.handles.remove(params.subscription)
        await subscription.end()
        let counts = subscription.counts
        return Result(told: counts.told, dropped: counts.dropped)
    }
}
