// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Where the members of a request are in a call of an endpoint.
struct EndpointPlaces: Sendable {
    let overrides: [String]
    let hasParams: Bool

    /// The place in the call for a place in the request.
    func place(of pointer: JSONPointer) -> JSONPointer {
        guard let member = pointer.names.first else { return JSONPointer(member: "endpoint") }
        if overrides.contains(member) { return JSONPointer(member: "overrides").appending(pointer) }
        return JSONPointer(member: hasParams ? "params" : "endpoint")
    }
}

extension RequestParameters {
    /// The failure of a request, with a pointer into the call.
    func placed(_ failure: HTTPFailure) -> HTTPFailure {
        guard let places, let pointer = failure.pointer else { return failure }
        var failure = failure
        failure.pointer = places.place(of: JSONPointer(canonical: pointer)).description
        return failure
    }
}
