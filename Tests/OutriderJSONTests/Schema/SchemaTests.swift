// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@Suite struct SchemaTests {
    /// The faults as "/place /keyword sentence"; none when the value fits.
    private static func faults(_ schema: String, _ value: String, formats: Bool = false) throws -> [String] {
        try JSONSchema(try parsed(schema), formats: formats).faults(in: try parsed(value)).map {
            "\($0.instance) \($0.schema) \($0.message)"
        }
    }

    @Test(arguments: [
        ("true", "1"), ("{}", "null"), (#"{"type":"integer"}"#, "1.0"), (#"{"type":["string","null"]}"#, "null"),
        (#"{"enum":[1,"a",{"b":[1],"c":2}]}"#, #"{"c":2,"b":[1.0]}"#), (#"{"const":1}"#, "1.0"),
        (#"{"minimum":1,"maximum":1}"#, "1"), (#"{"exclusiveMinimum":9007199254740992.0}"#, "9007199254740993"),
        (#"{"multipleOf":0.01}"#, "19.99"), (#"{"multipleOf":0.0001}"#, "0.0075"),
        (#"{"multipleOf":1e-8}"#, "12391239123"),
        (#"{"minLength":2,"maxLength":2}"#, #""é👍""#), (#"{"pattern":"b+"}"#, #""abc""#), (#"{"pattern":"b"}"#, "1"),
        (#"{"prefixItems":[{"type":"string"}],"items":{"type":"integer"}}"#, #"["a",1,2]"#),
        (#"{"items":[{"type":"string"}],"additionalItems":{"type":"integer"}}"#, #"["a",1,2]"#),
        (#"{"contains":{"type":"string"},"minContains":2,"maxContains":2}"#, #"["a",1,"b"]"#),
        (#"{"contains":false,"minContains":0}"#, "[1]"), (#"{"uniqueItems":true}"#, "[1,true,[1],[2],{\"a\":1}]"),
        (#"{"required":["a"],"properties":{"a":true},"additionalProperties":false}"#, #"{"a":1}"#),
        (#"{"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}"#, #"{"x-a":"b"}"#),
        (#"{"propertyNames":{"maxLength":1}}"#, #"{"a":1}"#),
        (#"{"dependentRequired":{"a":["b"]}}"#, #"{"a":1,"b":2}"#),
        (#"{"dependencies":{"a":["b"],"c":{"required":["d"]}}}"#, #"{"c":1,"d":2}"#),
        (#"{"allOf":[{"type":"integer"},{"minimum":1}]}"#, "1"), (#"{"anyOf":[{"type":"string"},{"minimum":1}]}"#, "1"),
        (#"{"oneOf":[{"type":"string"},{"minimum":1}]}"#, "1"), (#"{"not":{"type":"string"}}"#, "1"),
        (#"{"if":{"type":"string"},"then":{"minLength":1},"else":{"minimum":1}}"#, #""a""#),
        (##"{"$ref":"#/$defs/a","$defs":{"a":{"type":"integer"}}}"##, "1"),
        (##"{"properties":{"next":{"$ref":"#"}},"additionalProperties":false}"##, #"{"next":{"next":{}}}"#),
        (##"{"$ref":"#a","$defs":{"x":{"$anchor":"a","type":"integer"}}}"##, "1"),
        (##"{"$ref":"#/definitions/a%25b","definitions":{"a%b":{"type":"integer"}}}"##, "1"),
        (#"{"$id":"http://x/s","$ref":"t","$defs":{"t":{"$id":"t","type":"integer"}}}"#, "1"),
        (#"{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}"#, #"{"a":1}"#),
        (#"{"anyOf":[{"prefixItems":[true]},{"prefixItems":[true,true]}],"unevaluatedItems":false}"#, "[1,2]"),
        (#"{"type":"string","nullable":true}"#, "null"), (#"{"nullable":true,"allOf":[{"type":"string"}]}"#, "null"),
        (#"{"minimum":1,"exclusiveMinimum":false}"#, "1"), (#"{"format":"date"}"#, #""never""#),
        (#"{"x-made-up":1,"example":2}"#, "3"), (#"{"properties":{"\u00e9":false}}"#, #"{"e\u0301":1}"#),
    ])
    func `a value that fits has no faults`(schema: String, value: String) throws {
        #expect(try Self.faults(schema, value) == [])
    }

    @Test(
        arguments: [
            ("false", "1", "  the value is not allowed here"),
            (#"{"type":"integer"}"#, "1.5", " /type the value must be an integer, not a number"),
            (
                #"{"type":["string","null","array"]}"#, "1",
                " /type the value must be null, a string or an array, not an integer"
            ),
            (#"{"enum":[1,"a"]}"#, "2", #" /enum the value must be one of 1, "a""#),
            (#"{"const":{"a":1}}"#, "{}", #" /const the value must be {"a":1}"#),
            (
                #"{"properties":{"a":{"items":{"minimum":1}}}}"#, #"{"a":[1,0]}"#,
                "/a/1 /properties/a/items/minimum a/1 must be at least 1"
            ),
            (#"{"minimum":1,"exclusiveMinimum":true}"#, "1", " /exclusiveMinimum the value must be more than 1"),
            (
                #"{"exclusiveMaximum":9007199254740992.0}"#, "9007199254740992",
                " /exclusiveMaximum the value must be less than 9007199254740992.0"
            ),
            (#"{"multipleOf":0.0001}"#, "0.00751", " /multipleOf the value must be a multiple of 0.0001"),
            (#"{"multipleOf":0.5}"#, "1e308", nil),
            (
                #"{"multipleOf":7}"#, "-9223372036854775808",
                " /multipleOf the value must be a multiple of 7"
            ),
            (#"{"minLength":2}"#, #""👍""#, " /minLength the value must have at least 2 characters"),
            (#"{"pattern":"^a$"}"#, #""ab""#, " /pattern the value must match the pattern ^a$"),
            (#"{"maxItems":1}"#, "[1,2]", " /maxItems the value must have at most 1 element"),
            (
                #"{"uniqueItems":true}"#, #"[{"a":1,"b":2},3,{"b":2.0,"a":1}]"#,
                " /uniqueItems the value must not have equal elements, such as 0 and 2"
            ),
            (
                #"{"contains":{"const":1}}"#, "[2]",
                " /contains the value must contain at least 1 element of the kind that is asked for"
            ),
            (#"{"required":["a/b"]}"#, "{}", "/a~1b /required a/b is required"),
            (
                #"{"dependentRequired":{"a":["b"]}}"#, #"{"a":1}"#,
                "/b /dependentRequired b is required because there is a"
            ),
            (
                #"{"properties":{"a":true},"additionalProperties":false}"#, #"{"b":1}"#,
                "/b /additionalProperties b is not allowed: known here are a"
            ),
            (
                #"{"propertyNames":{"maxLength":1}}"#, #"{"ab":1}"#,
                "/ab /propertyNames ab has a name that is not allowed: the value must have at most 1 character"
            ),
            (
                #"{"anyOf":[{"type":"string"},{"properties":{"a":{"type":"string"}}}]}"#, #"{"a":1}"#,
                " /anyOf the value fits none of 2 alternatives; for the closest, a must be a string, not an integer"
            ),
            (
                #"{"oneOf":[{"minimum":1},{"minimum":2}]}"#, "3",
                " /oneOf the value must fit exactly one of the alternatives, but fits 0 and 1"
            ),
            (#"{"not":{}}"#, "1", " /not the value must not be what \"not\" describes"),
            (
                #"{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}"#, #"{"a":1,"b":2}"#,
                "/b /unevaluatedProperties b is not allowed"
            ),
            (
                ##"{"$ref":"#/$defs/a","$defs":{"a":{"type":"integer"}}}"##, #""a""#,
                " /$defs/a/type the value must be an integer, not a string"
            ),
        ] as [(String, String, String?)])
    func `a value that does not fit is told where and why`(schema: String, value: String, fault: String?) throws {
        #expect(try Self.faults(schema, value).first == fault)
    }

    @Test(
        arguments: [
            ("1", "", "a schema must be an object, true or false, not an integer"),
            (#"{"type":"strng"}"#, "/type", nil), (#"{"enum":1}"#, "/enum", "enum must be a list, not an integer"),
            (
                #"{"properties":{"a":{"minimum":"1"}}}"#, "/properties/a/minimum",
                "minimum must be a number, not a string"
            ),
            (#"{"multipleOf":0}"#, "/multipleOf", "multipleOf must be a number greater than 0"),
            (#"{"minLength":-1}"#, "/minLength", "minLength must be an integer that is not negative"),
            (
                #"{"pattern":"a(?=b)"}"#, "/pattern",
                "a(?=b) is a pattern that looks ahead, which is not supported"
            ),
            (#"{"patternProperties":{"(":{}}}"#, "/patternProperties/(", "( is a pattern that has a ( without its )"),
            (#"{"$ref":"http://example.org/s"}"#, "/$ref", nil), (##"{"$ref":"#/$defs/no"}"##, "/$ref", nil),
            (##"{"$ref":"#/a","a":[]}"##, "/a", "a schema must be an object, true or false, not an array"),
            (#"{"required":[1]}"#, "/required/0", "must be a string, not an integer"),
            (#"{"allOf":{}}"#, "/allOf", nil),
            (#"{"properties":[]}"#, "/properties", "properties must be an object, not an array"),
        ] as [(String, String, String?)])
    func `a schema that cannot be used is told where and why`(schema: String, pointer: String, message: String?) throws
    {
        let document = try parsed(schema)
        let complaint = #expect(throws: JSONComplaint.self) { try JSONSchema(document) }
        #expect(complaint?.pointer.description == pointer)
        if let message { #expect(complaint?.message == message) }
    }

    @Test(arguments: [
        ("date-time", "2030-02-28T23:59:60Z", true), ("date-time", "2030-02-29T00:00:00Z", false),
        ("date", "2028-02-29", true), ("date", "2030-1-01", false), ("time", "23:59:59.5+01:00", true),
        ("time", "24:00:00Z", false), ("duration", "P1DT12H", true), ("duration", "P1", false),
        ("duration", "PT", false),
        ("email", "a.b@example.org", true), ("email", "a..b@example.org", false), ("hostname", "a-b.example", true),
        ("hostname", "-a", false), ("ipv4", "127.0.0.1", true), ("ipv4", "127.0.0.01", false), ("ipv6", "::1", true),
        ("ipv6", "1::2::3", false), ("ipv6", "::ffff:1.2.3.4", true), ("uri", "http://a/b?c#d", true),
        ("uri", "/a", false), ("uri-reference", "/a", true), ("uri-reference", "a b", false),
        ("uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d16380", true), ("uuid", "2eb8aa08", false),
        ("json-pointer", "/a~1b", true), ("json-pointer", "/a~2", false), ("relative-json-pointer", "1/a", true),
        ("relative-json-pointer", "01", false), ("regex", "^a$", true), ("regex", "(", false), ("byte", "YQ==", true),
        ("byte", "Y!", false), ("made-up", "anything", true),
    ])
    func `a format is checked when asked for`(format: String, text: String, fits: Bool) throws {
        let schema = JSONValue.object(["format": .string(format)])
        #expect(try JSONSchema(schema, formats: true).faults(in: .string(text)).isEmpty == fits)
        #expect(try JSONSchema(schema).faults(in: .string(text)).isEmpty)
    }

    @Test func `several schemas of one document share what they refer to, and fail alone`() throws {
        let document = try parsed(
            ##"{"a":{"$ref":"#/c"},"b":{"type":"no"},"c":{"type":"integer"},"d":{"items":{"$ref":"#/c"}}}"##)
        var budget = WorkBudget()
        let found = try JSONSchema.all(
            in: document, at: ["a", "b", "d", "e"].map { JSONPointer(member: $0) }, budget: &budget)
        #expect(try found[0].get().faults(in: .string("x")).first?.schema.description == "/c/type")
        #expect(throws: JSONComplaint.self) { try found[1].get() }
        #expect(try found[2].get().faults(in: .array([.integer(1), .null])).first?.instance.description == "/1")
        #expect(throws: JSONComplaint.self) { try found[3].get() }
    }
}
