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
        guard let pointer = failure.pointer.map(JSONPointer.init(canonical:)) else { return failure }
        var failure = failure
        if let places {
            failure.pointer = places.place(of: pointer).description
        } else if listsHeaders {
            failure.pointer = listed(pointer).description
        }
        return failure
    }

    /// The place of a field in a list of fields: the first of that name that may not be sent.
    private func listed(_ pointer: JSONPointer) -> JSONPointer {
        let names = pointer.names
        let index = spec.fields.list.firstIndex { field in
            HTTPFields.same(field.name, names.last ?? "") && FieldRules.fault(inField: field.name, field.value) != nil
        }
        guard names.count == 2, names.first == "headers", let index else { return pointer }
        return JSONPointer(index: index).under(member: "headers")
    }
}
