// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// Names and values as text for the query of a URL: in the order given, a list repeats its name.
package struct QueryEncoding: Sendable {
    private let options: FormOptions

    package init(_ options: FormOptions = .query) { self.options = options }

    /// The text, empty for the empty object; names may repeat. `at` is the pointer to the object, for complaints.
    package func encode(_ object: JSONObject, at pointer: String) throws(HTTPFailure) -> String {
        if object.isEmpty { return "" }
        do throws(JSONComplaint) {
            return try FormWriter.text(of: FormValues(object.members), options)
        } catch {
            throw HTTPFailure(
                .parameterEncoderFailed, error.message, pointer: pointer + error.pointer.description)
        }
    }
}
