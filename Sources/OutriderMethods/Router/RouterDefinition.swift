// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// A RouterSpec of the contract: an API as a client, or a file, defines it.
struct RouterDefinition {
    var router: RouterSpec
    var isShared: Bool

    /// How many endpoints a router may have.
    static let maximumEndpoints = 10_000

    /// Throws if the budget is used up, too.
    init(json: JSONValue, budget: inout WorkBudget) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let name: String? = try fields.optional("name", check: Self.fault(inName:))
        let base: BaseURLParameter? = try fields.optional("baseUrl")
        let defaults: RequestOptions? = try fields.optional("defaults")
        let endpoints: JSONObject? = try fields.optional("endpoints")
        do throws(JSONComplaint) {
            try checkMethod(defaults?.object ?? [:])
        } catch {
            throw error.under(member: "defaults")
        }
        let list = try endpoints.map { object throws(JSONComplaint) in try Self.endpoints(object, &budget) }
        isShared = try fields.optional("shared") ?? false
        try fields.finish()
        router = RouterSpec(
            name: try JSONFields.need("name", name), baseURL: try JSONFields.need("baseUrl", base).url,
            defaults: defaults?.object ?? [:], endpoints: try JSONFields.need("endpoints", list))
    }

    private static func endpoints(
        _ object: JSONObject, _ budget: inout WorkBudget
    ) throws(JSONComplaint) -> [RouterEndpoint] {
        if object.members.count > maximumEndpoints {
            throw JSONComplaint(
                "endpoints must have at most \(maximumEndpoints) members", at: JSONPointer(member: "endpoints"))
        }
        var list: [RouterEndpoint] = []
        for member in object.members {
            do throws(JSONComplaint) {
                try budget.spend()
                list.append(try EndpointParameter(member.name, member.value, &budget).endpoint)
            } catch {
                throw error.under(member: member.name).under(member: "endpoints")
            }
        }
        return list
    }

    static func fault(inName name: String) -> String? {
        if name.isEmpty || name.utf8.count > 128 { return "must have 1 to 128 bytes" }
        if name.hasPrefix(HandleKind.router.rawValue) { return "must not begin as a handle does" }
        return name.unicodeScalars.contains { $0.value < 0x20 } ? "must not have control characters" : nil
    }
}

struct BaseURLParameter: JSONDecodable {
    var url: RouterURL

    init(json: JSONValue) throws(JSONComplaint) { url = try RouterURL(try String(json: json)) }
}

/// An Endpoint of the contract.
private struct EndpointParameter {
    var endpoint: RouterEndpoint

    /// All other members are those of a request.
    private static let own = ["path", "baseUrl", "summary", "params", "places", "paramDefaults"]

    init(_ name: String, _ json: JSONValue, _ budget: inout WorkBudget) throws(JSONComplaint) {
        if let fault = RouterDefinition.fault(inName: name) { throw JSONComplaint("the endpoint's name \(fault)") }
        guard case .object(let object) = json else {
            throw JSONComplaint("\(name.excerpt) must be an object, not \(json.typeName)")
        }
        var fields = try JSONFields(.object(JSONObject(members: object.members.filter { Self.own.contains($0.name) })))
        let path: PathParameter? = try fields.optional("path")
        let base: BaseURLParameter? = try fields.optional("baseUrl")
        let summary: String? = try fields.optional("summary")
        let params: SchemaParameter? = try fields.optional("params")
        let places: JSONObject? = try fields.optional("places")
        let defaults: JSONObject? = try fields.optional("paramDefaults")
        try fields.finish()
        let options = object.members.filter { !Self.own.contains($0.name) && $0.name != "_meta" }
        try RequestOptions.check(JSONObject(members: options), beside: Self.own)
        try checkMethod(JSONObject(members: options))
        endpoint = RouterEndpoint(name: name, path: try JSONFields.need("path", path).path)
        endpoint.baseURL = base?.url
        endpoint.summary = summary
        endpoint.params = params?.document
        endpoint.schema = try params?.compiled(formats: false, as: "params", budget: &budget)
        endpoint.paramDefaults = defaults ?? [:]
        endpoint.options = JSONObject(members: options)
        for member in places?.members ?? [] where member.value != .null {
            do throws(JSONComplaint) {
                endpoint.places[member.name] = try PlaceParameter(json: member.value).place
            } catch {
                throw JSONComplaint("\(member.name.excerpt) \(error.message)", at: error.pointer, known: error.known)
                    .under(member: member.name).under(member: "places")
            }
        }
        try checkPlaces()
    }

    /// What is said to stand in the path must be in it.
    private func checkPlaces() throws(JSONComplaint) {
        for (name, place) in endpoint.places.sorted(by: { $0.key < $1.key }) where place.part == .path {
            let there = place.name ?? name
            guard endpoint.path.names.contains(there) else {
                throw JSONComplaint(
                    "the path \(endpoint.path.text.excerpt) has no {\(there.excerpt)}", at: JSONPointer(member: name)
                )
                .under(member: "places")
            }
        }
        let bodies = endpoint.places.filter { $0.value.part == .body }.map(\.key).sorted()
        guard bodies.count < 2 else {
            throw JSONComplaint(
                "only one parameter can be the body, not \(bodies.map(\.excerpt).joined(separator: " and "))"
            )
            .under(member: "places")
        }
    }
}

/// A request with a method that cannot be sent is a failure; a definition with one is a mistake.
private func checkMethod(_ options: JSONObject) throws(JSONComplaint) {
    guard let method = options["method"]?.string, let fault = FieldRules.fault(inMethod: method) else { return }
    throw JSONComplaint("must be a method, such as GET: \(fault)", at: JSONPointer(member: "method"))
}

private struct PathParameter: JSONDecodable {
    var path: PathTemplate

    init(json: JSONValue) throws(JSONComplaint) { path = try PathTemplate(try String(json: json)) }
}
