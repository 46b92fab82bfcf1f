// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// A one-way message to a client: a name, and params in their written form.
package struct Event: Sendable {
    package let name: String
    package let params: JSONText
    /// Whether the event may be left out where there is no room; such events are counted.
    package let isDroppable: Bool

    package init(_ name: String, _ params: some JSONEncodable, isDroppable: Bool = false) {
        self.name = name
        self.params = JSONText(written: JSONWriter.bytes(of: params))
        self.isDroppable = isDroppable
    }
}

/// A callback: a call from the service to a client.
package struct Callback: Sendable {
    package let method: String
    package let params: JSONText

    package init(_ method: String, _ params: some JSONEncodable) {
        self.method = method
        self.params = JSONText(written: JSONWriter.bytes(of: params))
    }
}
