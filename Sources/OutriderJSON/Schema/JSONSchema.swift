// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A JSON Schema, compiled once for many checks: draft 2020-12, and the different spellings of older drafts and OpenAPI
/// 3.0.
///
/// References stay within the document; nothing is ever fetched. Unknown keywords are ignored, as the standard
/// requires. `format` is an assertion only if `formats` is true.
///
///     let schema = try JSONSchema(document)
///     if let fault = schema.faults(in: value).first { … }
package struct JSONSchema: Sendable {
    let nodes: SchemaNodes
    let root: Int

    /// Throws a complaint whose pointer is into the schema; also if the budget is used up.
    package init(_ schema: JSONValue, formats: Bool = false, budget: inout WorkBudget) throws(JSONComplaint) {
        var compiler = try SchemaCompiler(schema, formats: formats, budget)
        root = try compiler.compile(at: .root)
        nodes = compiler.finished
        budget = compiler.budget
    }

    /// Compiles with a default budget without a time limit.
    package init(_ schema: JSONValue, formats: Bool = false) throws(JSONComplaint) {
        var budget = WorkBudget()
        try self.init(schema, formats: formats, budget: &budget)
    }

    private init(nodes: SchemaNodes, root: Int) {
        self.nodes = nodes
        self.root = root
    }

    /// Several schemas in the same document, such as the parameters of the operations of an API; shared references are
    /// compiled once for all of them.
    ///
    /// A schema that cannot be compiled gives its complaint, and the others are unaffected. Throws if the budget is
    /// used up.
    ///
    /// - Parameter ofRequests: whether OpenAPI's rules for requests hold: members that are `readOnly` are not required,
    ///   except in the schemas at `pointers` themselves, and with a `discriminator` several alternatives may fit.
    package static func all(
        in document: JSONValue, at pointers: [JSONPointer], formats: Bool = false, ofRequests: Bool = false,
        budget: inout WorkBudget
    ) throws(JSONComplaint) -> [Result<JSONSchema, JSONComplaint>] {
        var compiler = try SchemaCompiler(document, formats: formats, ofRequests: ofRequests, budget)
        var roots: [Result<Int, JSONComplaint>] = []
        for pointer in pointers {
            try compiler.budget.look()
            do throws(JSONComplaint) {
                roots.append(.success(try compiler.compile(at: pointer)))
            } catch {
                roots.append(.failure(error))
            }
            if let complaint = compiler.budget.complaint { throw complaint }
        }
        budget = compiler.budget
        let nodes = compiler.finished
        return roots.map { root in root.map { JSONSchema(nodes: nodes, root: $0) } }
    }

    /// The faults of the value, the most informative first; empty if the value fits.
    package func faults(in value: JSONValue, limits: SchemaLimits = SchemaLimits()) -> [SchemaFault] {
        var run = SchemaRun(nodes, limits)
        return run.faults(in: value, root)
    }
}
