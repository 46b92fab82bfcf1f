// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// Builds the RequestSpec of the contract for a call of an endpoint.
package struct RouterRequest {
    private let router: RouterSpec
    private let endpoint: RouterEndpoint
    private var params: JSONObject
    private var request: JSONObject
    /// Lists with commas: names in the query, and texts for the URL.
    private var lists: [(name: String, text: String)] = []

    /// Throws `missingPathParameter` or `parametersDoNotFit`, each with a pointer into `params`.
    ///
    /// - Parameter limits: for the check of the parameters against their schema.
    package static func build(
        _ router: RouterSpec, _ endpoint: RouterEndpoint, params: JSONObject, overrides: JSONObject,
        limits: SchemaLimits = SchemaLimits()
    ) throws(HTTPFailure) -> JSONObject {
        var call = RouterRequest(router, endpoint, params)
        do throws(HTTPFailure) {
            try call.check(limits)
            var url = try call.url()
            try call.placeParameters()
            var request = RouterMerge.cover(call.request, with: overrides)
            for list in call.lists where overrides["query"]?.object?[list.name] == nil {
                if var query = request["query"]?.object {
                    query[list.name] = nil
                    request["query"] = .object(query)
                }
                url += (url.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + list.text
            }
            request["url"] = .string(url)
            return request
        } catch {
            var failure = error
            failure.pointer = "/params" + (error.pointer ?? "")
            if failure.kind == .parametersDoNotFit { failure.details = [.instancePointer(error.pointer ?? "")] }
            throw failure
        }
    }

    private init(_ router: RouterSpec, _ endpoint: RouterEndpoint, _ params: JSONObject) {
        self.router = router
        self.endpoint = endpoint
        self.params = params
        for member in endpoint.paramDefaults.members where params[member.name] == nil {
            self.params.members.append(member)
        }
        request = RouterMerge.cover(router.defaults, with: endpoint.options)
    }

    // MARK: checking

    private func check(_ limits: SchemaLimits) throws(HTTPFailure) {
        for name in endpoint.path.names.map(endpoint.parameter) {
            if let value = params[name], value != .null, value != .string("") { continue }
            throw HTTPFailure(
                .missingPathParameter,
                "\(endpoint.name) needs \(name.excerpt) for its path \(endpoint.path.text.excerpt)",
                pointer: JSONPointer(member: name).description)
        }
        guard let fault = endpoint.schema?.faults(in: .object(params), limits: limits).first else { return }
        throw HTTPFailure(
            .parametersDoNotFit, "the parameters of \(endpoint.name) do not fit: \(fault.message)",
            pointer: fault.instance.description)
    }

    private func unfit(_ name: String, _ why: String) -> HTTPFailure {
        HTTPFailure(
            .parametersDoNotFit, "\(name.excerpt) of \(endpoint.name) \(why)",
            pointer: JSONPointer(member: name).description)
    }

    // MARK: placing

    private mutating func url() throws(HTTPFailure) -> String {
        let names = endpoint.path.names
        var values: [String: ExpandedValue] = [:]
        for name in names {
            let parameter = endpoint.parameter(for: name)
            let place = endpoint.places[parameter] ?? ParameterPlace(.path)
            guard let texts = place.texts(params[parameter] ?? .null) else {
                throw unfit(
                    parameter, "must be a text, a number, true or false, or a flat list of these, to stand in a path")
            }
            values[name] = texts
        }
        let path = try endpoint.path.expanded { values[$0] }
        for name in names { params[endpoint.parameter(for: name)] = nil }
        return (endpoint.baseURL ?? router.baseURL).joined(path)
    }

    private mutating func placeParameters() throws(HTTPFailure) {
        var query = JSONObject()
        var headers: [JSONValue] = []
        var cookies: [String] = []
        var rest = JSONObject()
        for member in params.members {
            guard let place = endpoint.places[member.name] else {
                rest.members.append(member)
                continue
            }
            let name = place.name ?? member.name
            switch place.part {
            case .path: continue
            case .query:
                if let text = place.commaList(name, member.value) {
                    lists.append((name, text))
                    continue
                }
                guard let items = place.queryItems(name, member.value) else {
                    throw unfit(
                        member.name,
                        place.style == .deepObject
                            ? "makes names that are too long for a query"
                            : "holds a list, an object or null inside, which only the style deepObject can write")
                }
                query.members.append(contentsOf: items)
            case .header:
                guard let value = place.texts(member.value) else {
                    throw unfit(member.name, "holds a list, an object or null inside, which no header can hold")
                }
                if !value.texts.isEmpty { headers.append(RouterMerge.field(name, value.texts.joined(separator: ","))) }
            case .cookie:
                guard let value = place.texts(member.value) else {
                    throw unfit(member.name, "holds a list, an object or null inside, which no cookie can hold")
                }
                if !value.texts.isEmpty { cookies.append("\(name)=\(Self.cookie(value.texts))") }
            case .body:
                if member.value == .null { continue }
                if place.kind == .multipart, let object = member.value.object, object["parts"] == nil {
                    throw unfit(member.name, "must be a list of parts, such as {\"name\": \"a\", \"file\": path}")
                }
                cover("body", place.body(member.value))
            }
        }
        if !cookies.isEmpty { headers.append(RouterMerge.field("Cookie", cookies.joined(separator: "; "))) }
        if !query.isEmpty { cover("query", .object(RouterMerge.members(JSONObject(), query))) }
        if !headers.isEmpty { cover("headers", .array(headers)) }
        if !rest.isEmpty { cover("parameters", .object(rest)) }
    }

    private mutating func cover(_ name: String, _ value: JSONValue) {
        request = RouterMerge.cover(request, with: JSONObject(members: [.init(name, value)]))
    }

    /// Percent-encodes the characters that RFC 6265 section 4.1.1 excludes.
    private static func cookie(_ texts: [String]) -> String {
        let allowed = PercentEncoding(keeping: "!#$&'()*+-./:<=>?@[]^_`{|}~")
        return texts.map { allowed.escape($0) }.joined(separator: "%2C")
    }
}
