// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Checks a value against a schema: the only part that walks both.
///
/// Limited in three ways: depth, steps, and number of faults.
struct SchemaRun {
    let nodes: SchemaNodes
    private let limits: SchemaLimits
    private(set) var found: [SchemaFault] = []
    /// The path to the current value.
    var path: [JSONPointer] = []
    var steps: Int
    private var depth = 0
    /// The resources around the current schema, outermost first.
    private(set) var scopes: [Int] = []
    /// Faults are not reported: the first fault ends the check.
    var isQuiet = false
    /// Set if the check was given up: the value then does not fit, even inside `not`.
    private var givenUp: SchemaFault?

    init(_ nodes: SchemaNodes, _ limits: SchemaLimits) {
        self.nodes = nodes
        self.limits = limits
        steps = limits.steps
    }

    mutating func faults(in value: JSONValue, _ root: Int) -> [SchemaFault] {
        var seen = SchemaSeen()
        let fits = check(root, value, &seen)
        if let givenUp { return [givenUp] }
        return fits ? [] : found
    }

    /// Whether the value fits; evaluated members and elements are added to `seen`.
    mutating func check(_ index: Int, _ value: JSONValue, _ seen: inout SchemaSeen) -> Bool {
        let node = nodes.list[index]
        if node.isNullable, case .null = value { return true }
        if let always = node.always {
            if !always { fail(node, "") { "\($0) is not allowed here" } }
            return always
        }
        guard spend(1, node), enter(node) else { return false }
        defer { depth -= 1 }
        let entered = scopes.last != node.resource
        if entered { scopes.append(node.resource) }
        defer { if entered { scopes.removeLast() } }
        var fits = true
        var own = SchemaSeen()
        for rule in node.rules {
            // further faults would only repeat the earlier faults
            if rule.isLast && !fits { break }
            if apply(rule, of: node, to: value, &own) { continue }
            fits = false
            if isQuiet || isFull { break }
        }
        if fits && nodes.hasUnevaluated { seen.add(own) }
        return fits
    }

    /// The same check for a value inside the current value.
    mutating func check(_ index: Int, _ value: JSONValue, at place: JSONPointer) -> Bool {
        path.append(place)
        defer { path.removeLast() }
        var seen = SchemaSeen()
        return check(index, value, &seen)
    }

    /// The same check without reporting faults.
    mutating func test(_ index: Int, _ value: JSONValue, _ seen: inout SchemaSeen) -> Bool {
        let before = isQuiet
        isQuiet = true
        defer { isQuiet = before }
        return check(index, value, &seen)
    }

    /// The same check, with the faults as result.
    mutating func trial(_ index: Int, _ value: JSONValue, _ seen: inout SchemaSeen) -> (
        fits: Bool, faults: [SchemaFault]
    ) {
        if isQuiet { return (check(index, value, &seen), []) }
        let before = found
        found = []
        defer { found = before }
        let fits = check(index, value, &seen)
        return (fits, found)
    }

    // MARK: faults

    private var isFull: Bool { found.count >= limits.faults }

    /// The current value in sentences: "address/street", or "the value" for the whole.
    var subject: String {
        path.isEmpty ? "the value" : place.names.joined(separator: "/")
    }

    var place: JSONPointer { path.reduce(JSONPointer.root) { $0.appending($1) } }

    /// Records a fault. Always returns false, for use in return statements.
    @discardableResult
    mutating func fail(_ node: SchemaNode, _ keyword: String, _ message: (String) -> String) -> Bool {
        guard !isQuiet, !isFull else { return false }
        let schema = keyword.isEmpty ? node.pointer : node.pointer.appending(JSONPointer(member: keyword))
        found.append(SchemaFault(instance: place, schema: schema, message: message(subject)))
        return false
    }

    /// The same for a value inside the current value.
    mutating func fail(
        _ node: SchemaNode, _ keyword: String, at inner: JSONPointer, _ message: (String) -> String
    ) {
        path.append(inner)
        fail(node, keyword, message)
        path.removeLast()
    }

    // MARK: bounds

    /// False if the steps are used up.
    mutating func spend(_ count: Int, _ node: SchemaNode) -> Bool {
        steps -= count
        if givenUp != nil { return false }
        if steps > 0 { return true }
        giveUp(node, "checking the value takes more than \(limits.steps) steps")
        return false
    }

    private mutating func enter(_ node: SchemaNode) -> Bool {
        depth += 1
        if depth <= limits.depth { return true }
        depth -= 1
        giveUp(node, "the schema is nested deeper than \(limits.depth) schemas here: does it refer to itself?")
        return false
    }

    private mutating func giveUp(_ node: SchemaNode, _ message: String) {
        if givenUp == nil { givenUp = SchemaFault(instance: place, schema: node.pointer, message: message) }
    }
}

/// The members or elements of a value that a schema has evaluated.
struct SchemaSeen {
    var all = false
    var indexes: Set<Int> = []

    mutating func add(_ other: SchemaSeen) {
        all = all || other.all
        if !other.indexes.isEmpty { indexes.formUnion(other.indexes) }
    }

    func has(_ index: Int) -> Bool { all || indexes.contains(index) }
}

extension SchemaRule {
    fileprivate var isLast: Bool {
        switch self {
        case .unevaluatedItems, .unevaluatedMembers: true
        default: false
        }
    }
}
