// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// A one-way message to a client: a name, and params in their written form.
package struct Event: Sendable {
    package let name: String
    package let params: JSONText

    package init(_ name: String, _ params: some JSONEncodable) {
        self.name = name
        self.params = JSONText(written: JSONWriter.bytes(of: params))
    }
}

/// A callback: a call from the service to a client.
package struct Question: Sendable {
    package let method: String
    package let params: JSONText

    package init(_ method: String, _ params: some JSONEncodable) {
        self.method = method
        self.params = JSONText(written: JSONWriter.bytes(of: params))
    }
}
