// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// An API: its base URL, common settings, and endpoints by name.
package struct RouterSpec: Sendable {
    package var name: String
    package var baseURL: RouterURL
    /// The defaults of each request: members of a RequestSpec of the contract.
    package var defaults: JSONObject
    /// In the order in which they were given.
    package let endpoints: [RouterEndpoint]
    /// Schemas that `params` of endpoints refer to, by the names in `#/definitions/NAME`.
    package let definitions: JSONObject
    private let indexes: [ByteText: Int]

    /// Of endpoints with the same name the first counts.
    package init(
        name: String, baseURL: RouterURL, defaults: JSONObject, endpoints: [RouterEndpoint],
        definitions: JSONObject = [:]
    ) {
        self.name = name
        self.definitions = definitions
        self.baseURL = baseURL
        self.defaults = defaults
        self.endpoints = endpoints
        indexes = Dictionary(
            endpoints.enumerated().map { (ByteText($1.name), $0) }, uniquingKeysWith: { first, _ in first })
    }

    package func endpoint(_ name: String) -> RouterEndpoint? { indexes[ByteText(name)].map { endpoints[$0] } }
}

/// A kind of request to an API.
package struct RouterEndpoint: Sendable {
    package var name: String
    /// The purpose, in a sentence.
    package var summary: String?
    package var path: PathTemplate
    /// The base of its path; nil for the URL of its router.
    package var baseURL: RouterURL?
    /// The schema of `params`, as written and as compiled.
    package var params: JSONValue?
    package var schema: JSONSchema?
    /// Parameters with a place other than the default for their name and encoding.
    package var places: [String: ParameterPlace] = [:]
    /// For parameters that are not given.
    package var paramDefaults: JSONObject = [:]
    /// Members of a RequestSpec of the contract.
    package var options: JSONObject = [:]

    package init(name: String, path: PathTemplate) {
        self.name = name
        self.path = path
    }

    package var method: String? { options["method"]?.string }

    /// The parameter for a name in the path.
    func parameter(for name: String) -> String {
        places.first { $0.value.part == .path && ($0.value.name ?? $0.key) == name }?.key ?? name
    }
}
