// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// Whether the fields of a caller may be sent.
package enum FieldCheck {
    /// Throws at the first field that may not be sent.
    ///
    /// - Parameter namesHost: whether the caller may set a single Host field.
    package static func check(_ fields: HTTPFields, namesHost: Bool = false) throws(HTTPFailure) {
        var total = 0
        var hosts = 0
        for field in fields.list {
            let isHost = namesHost && HTTPFields.same(field.name, "Host")
            if isHost { hosts &+= 1 }
            if hosts > 1 || (isHost && ConnectTarget(field.value)?.host == nil) {
                throw HTTPFailure(
                    .createURLRequestFailed, "Host must be one host, perhaps with a port",
                    pointer: pointer(toField: "Host"))
            }
            if !isHost, let fault = FieldRules.fault(inField: field.name, field.value) {
                throw HTTPFailure(.createURLRequestFailed, fault, pointer: pointer(toField: field.name))
            }
            total &+= field.name.utf8.count &+ field.value.utf8.count &+ 4
            if total > maximumHeadBytes {
                throw HTTPFailure(
                    .createURLRequestFailed, "the headers are longer than \(maximumHeadBytes) bytes together",
                    pointer: "/headers")
            }
        }
    }

    /// A bound that only catches mistakes: servers accept far less.
    package static let maximumHeadBytes = 1 << 20

    private static func pointer(toField name: String) -> String {
        JSONPointer(member: name).under(member: "headers").description
    }
}
