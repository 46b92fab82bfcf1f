// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// Method names to what they do. Built once at start; decode, call and encode are one erased closure per method, so that
/// nothing above knows types and nothing below knows bytes.
package struct MethodTable<Scope: ConnectionScope>: Sendable {
    package typealias Entry = @Sendable (JSONValue, Call<Scope>) async throws -> JSONText

    private var entries: [String: Entry] = [:]

    package init() {}

    /// The last one added under a name wins; the tests refuse duplicates.
    package mutating func add<M: Method>(_ method: M.Type) where M.Scope == Scope {
        entries[M.name] = { params, call in
            let decoded: M.Params
            do throws(JSONComplaint) {
                decoded = try M.Params(json: params)
            } catch {
                throw RPCError(error)
            }
            let result = try await M.call(decoded, call)
            return JSONText(written: JSONWriter.bytes(of: result))
        }
    }

    package subscript(name: String) -> Entry? { entries[name] }

    package var names: [String] { entries.keys.sorted() }
}
