// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

/// A value, whose integers may have more than 64 bits.
func json(_ text: String) throws -> JSONValue {
    var limits = JSONLimits()
    limits.hasLongIntegers = true
    return try JSONParser.parse(Array(text.utf8), limits: limits)
}

private func form(_ text: String, _ change: (inout FormOptions) -> Void = { _ in }) throws -> String {
    var options = FormOptions()
    change(&options)
    return try FormWriter.text(of: FormValues(json(text)), options)
}

@Suite struct FormWriterTests {
    private static let mixed =
        #"{"one":"one","two":2,"three":true,"four":[1,2,3],"five":{"a":"a"},"six":{"a":{"b":"b"}},"seven":{"a":"a"}}"#

    private static let defaults: [(String, String, String)] = [
        ("[3.A.1]", #"{"a":"a"}"#, "a=a"),
        ("[3.A.2]", #"{"a":{"$decimal":"1.0"}}"#, "a=1"),
        ("[3.A.2]", #"{"a":{"$decimal":1.123456}}"#, "a=1.123456"),
        ("[3.A.4] [C11]", #"{"a":1.0}"#, "a=1.0"),
        ("[3.A.5]", #"{"a":1}"#, "a=1"),
        (
            "[3.A.5]", #"{"a":-9223372036854775808,"b":18446744073709551615}"#,
            "a=-9223372036854775808&b=18446744073709551615"
        ),
        ("[C11]", #"{"a":1.10,"b":1e3,"c":0.30000000000000004}"#, "a=1.10&b=1e3&c=0.30000000000000004"),
        ("[3.A.7] [C7]", #"{"a":{"b":"b"}}"#, "a%5Bb%5D=b"),
        (
            "[3.A.11] [C1]", mixed,
            "five%5Ba%5D=a&four%5B%5D=1&four%5B%5D=2&four%5B%5D=3&one=one&seven%5Ba%5D=a&six%5Ba%5D%5Bb%5D=b&three=1&two=2"
        ),
        (
            "[3.A.15] [C1]", #"{"one":"one","two":2,"three":true,"four":[1,2,3],"five":{"b":"b","a":"a"}}"#,
            "five%5Ba%5D=a&five%5Bb%5D=b&four%5B%5D=1&four%5B%5D=2&four%5B%5D=3&one=one&three=1&two=2"
        ),
        ("a list keeps its order", #"{"a":[3,1,2]}"#, "a%5B%5D=3&a%5B%5D=1&a%5B%5D=2"),
        ("[3.A.26] [C3]", #"{"bool":true,"no":false}"#, "bool=1&no=0"),
        ("[3.A.27] [C4]", #"{"data":{"$data":"ZGF0YQ=="}}"#, "data=ZGF0YQ%3D%3D"),
        ("[C5]", #"{"date":{"$date":978307323.456}}"#, "date=2001-01-01T00%3A02%3A03Z"),
        ("[3.A.43] [C8]", #"{"a":null}"#, ""),
        ("[3.A.44]", #"{"one":"one","two":null}"#, "one=one"),
        (
            "[3.A.52] [C10]", #"{"numbers":"0123456789","uppercase":"ABC","lowercase":"xyz"}"#,
            "lowercase=xyz&numbers=0123456789&uppercase=ABC"
        ),
        (
            "[3.A.53]", ##"{"reserved":":#[]@!$&'()*+,;="}"##,
            "reserved=%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D"
        ),
        ("[3.A.55]", #"{"foo&bar":"baz&qux","foobar":"bazqux"}"#, "foo%26bar=baz%26qux&foobar=bazqux"),
        ("[3.A.56]", #"{"?foo?":"?bar?"}"#, "?foo?=?bar?"),
        ("[3.A.58] [C9]", #"{" foo ":" bar "}"#, "%20foo%20=%20bar%20"),
        ("[3.A.60]", #"{"percent%":"%25"}"#, "percent%25=%2525"),
        (
            "[3.A.61]",
            "{\"french\":\"fran\u{e7}ais\",\"japanese\":\"\u{65e5}\u{672c}\u{8a9e}\","
                + "\"arabic\":\"\u{627}\u{644}\u{639}\u{631}\u{628}\u{64a}\u{629}\",\"emoji\":\"\u{1F603}\"}",
            "arabic=%D8%A7%D9%84%D8%B9%D8%B1%D8%A8%D9%8A%D8%A9&emoji=%F0%9F%98%83&french=fran%C3%A7ais"
                + "&japanese=%E6%97%A5%E6%9C%AC%E8%AA%9E"
        ),
        ("[3.B.13]", #"{"foo":"bar","baz":"qux"}"#, "baz=qux&foo=bar"),
        ("[3.B.14]", #"{"foo":["a",1,true]}"#, "foo%5B%5D=a&foo%5B%5D=1&foo%5B%5D=1"),
        ("[3.B.18]", #"{"foo":{"bar":{"baz":1}}}"#, "foo%5Bbar%5D%5Bbaz%5D=1"),
        ("[C14]", "{}", ""),
        ("[C14]", #"{"a":[],"b":{},"c":"d","e":[[],{}]}"#, "c=d"),
        ("an object with two members is no tag", #"{"a":{"$date":1,"b":2}}"#, "a%5B%24date%5D=1&a%5Bb%5D=2"),
        ("an unknown tag is an object", #"{"a":{"$id":1}}"#, "a%5B%24id%5D=1"),
    ]

    @Test(arguments: defaults)
    func `names and values become a form`(label: String, text: String, expected: String) throws {
        #expect(try form(text) == expected, "\(label)")
    }

    private struct Choice: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var json: String
        var text: String
        var change: @Sendable (inout FormOptions) -> Void

        init(
            _ label: String, _ json: String, _ text: String, _ change: @escaping @Sendable (inout FormOptions) -> Void
        ) {
            (testDescription, self.json, self.text, self.change) = (label, json, text, change)
        }
    }

    private static let array = #"{"array":[1,2]}"#
    private static let keyed = #"{"oneTwoThree":"oneTwoThree"}"#
    private static let nulls = #"{"one":"one","two":null}"#

    private static let choices: [Choice] = [
        Choice("[3.A.8]", #"{"a":{"b":"b"}}"#, "a%5Bb%5D=b") { $0.keyPaths = .brackets },
        Choice("[3.A.9] [C7]", #"{"a":{"b":{"c":"d"}}}"#, "a.b.c=d") { $0.keyPaths = .dots },
        Choice("[C7]", #"{"a":{"b":"b"}}"#, "a-%3Eb=b") { $0.keyPaths = .template(KeyTemplate("->{key}")) },
        Choice(
            "[3.A.18]", #"{"foo":[{"one":"one","two":2,"three":true}]}"#,
            "foo%5B0%5D%5Bone%5D=one&foo%5B0%5D%5Bthree%5D=1&foo%5B0%5D%5Btwo%5D=2"
        ) { $0.arrays = .indexInBrackets },
        Choice(
            "[3.A.19]", #"{"one":"one","two":2,"three":true,"four":[1,2,3],"five":{"a":"a","b":"b"}}"#,
            "five%5Ba%5D=a&five%5Bb%5D=b&four%5B0%5D=1&four%5B1%5D=2&four%5B2%5D=3&one=one&three=1&two=2"
        ) { $0.arrays = .indexInBrackets },
        Choice(
            "[3.A.21]", #"{"foo":[{"bar":2},{"qux":3},{"quy":4}]}"#,
            "foo%5B0%5D%5Bbar%5D=2&foo%5B1%5D%5Bqux%5D=3&foo%5B2%5D%5Bquy%5D=4"
        ) { $0.arrays = .indexInBrackets },
        Choice("[3.A.23] [C2]", array, "array=1&array=2") { $0.arrays = .noBrackets },
        Choice("[3.A.24] [C2]", array, "array.1=1&array.2=2") { $0.arrays = .template(KeyTemplate("{key}.{number}")) },
        Choice("[C2]", array, "0%7Ba%7D-array=1&1%7Ba%7D-array=2") {
            $0.arrays = .template(KeyTemplate("{index}{a}-{key}"))
        },
        Choice("[C2]", #"{"a":[[1],[2,3]]}"#, "a%5B0%5D%5B0%5D=1&a%5B1%5D%5B0%5D=2&a%5B1%5D%5B1%5D=3") {
            $0.arrays = .indexInBrackets
        },
        Choice("[3.B.16]", #"{"foo":["a",1,true]}"#, "foo=a&foo=1&foo=1") { $0.arrays = .noBrackets },
        Choice("[3.A.25] [C3]", #"{"bool":true,"no":false}"#, "bool=true&no=false") { $0.bools = .literal },
        Choice(
            "[3.B.20] [C21]", #"{"a":1,"b":0,"c":1.0,"d":0.0,"e":-0.0,"i":true,"j":false}"#,
            "a=1&b=0&c=1&d=0&e=0&i=true&j=false"
        ) {
            $0.bools = .literal
            $0.numbers = .plain
        },
        Choice("[C11]", #"{"a":1e3,"b":1.50,"c":2.5e-7}"#, "a=1000&b=1.5&c=0.00000025") { $0.numbers = .plain },
        Choice("[C4]", #"{"d":{"$data":"AP8="}}"#, "d%5B%5D=0&d%5B%5D=255") { $0.values.data = .bytes },
        Choice("[C4]", #"{"d":{"$data":"AP8="}}"#, "d=00ff") { $0.values.data = .hex },
        Choice("[C4]", #"{"d":{"$data":"AP9h"}}"#, "d=%00%FFa") { $0.values.data = .raw },
        Choice("[C4]", #"{"d":{"$data":"+//7/w=="}}"#, "d=-__7_w") { $0.values.data = .base64url },
        Choice("[3.A.36] [C6]", keyed, "one_two_three=oneTwoThree") { $0.keys = .snake },
        Choice("[3.A.37] [C6]", keyed, "one-two-three=oneTwoThree") { $0.keys = .kebab },
        Choice("[3.A.38] [C6]", keyed, "OneTwoThree=oneTwoThree") { $0.keys = .capitalized },
        Choice("[3.A.39] [C6]", keyed, "onetwothree=oneTwoThree") { $0.keys = .lower },
        Choice("[3.A.40] [C6]", keyed, "ONETWOTHREE=oneTwoThree") { $0.keys = .upper },
        Choice("[C6]", #"{"myURLProperty":1,"a":{"bC":2},"URL":3}"#, "a%5Bb_c%5D=2&my_url_property=1&url=3") {
            $0.keys = .snake
        },
        Choice("[C6]", #"{"userId":1,"other":2}"#, "other=2&user_id=1") { $0.keys = .names(["userId": "user_id"]) },
        Choice("[3.A.45] [C8]", #"{"a":null}"#, "a=null") { $0.nulls = .null },
        Choice("[3.A.47] [C8]", #"{"a":null}"#, "a=") { $0.nulls = .dropValue },
        Choice("[3.A.48]", nulls, "one=one&two=") { $0.nulls = .dropValue },
        Choice("[C8]", nulls, "one=one&two=none") { $0.nulls = .text("none") },
        Choice("[3.A.50] [C9]", #"{"spaces":"replace with spaces"}"#, "spaces=replace+with+spaces") {
            $0.escape(allowing: nil, spaces: .plus)
        },
        Choice("[C9]", #"{"a b":"+ +"}"#, "a+b=%2B+%2B") { $0.escape(allowing: nil, spaces: .plus) },
        Choice("[C10]", #"{"a":[1],"b":"&=%+# /~"}"#, "a[]=1&b=%26%3D%25%2B%23%20%2F%7E") {
            $0.escape(allowing: "[]&=%+# \u{e9}", spaces: .percent)
        },
        Choice("[C1]", #"{"b":{"d":1,"c":2},"a":3}"#, "b%5Bd%5D=1&b%5Bc%5D=2&a=3") { $0.sorts = false },
    ]

    @Test(arguments: choices)
    private func `every choice can be made otherwise`(choice: Choice) throws {
        #expect(try form(choice.json, choice.change) == choice.text)
    }

    private static let dates: [(String, ValueStyle.Date, String)] = [
        ("978307323.456", .reference, "123.456"),  // [3.A.29] [C5]
        ("978307323.456", .seconds, "978307323.456"),  // [3.A.30]
        ("978307323.456", .milliseconds, "978307323456.0"),
        ("978307323.456", .iso8601, "2001-01-01T00%3A02%3A03Z"),  // [3.A.32]
        ("978307323.456", .format("%d.%m.%y %j"), "01.01.01%20001"),
        ("978307200", .reference, "0.0"),
        ("\"2001-01-01T01:02:03.456+01:00\"", .reference, "123.456"),
        ("-0.25", .seconds, "-0.25"),
        ("-0.25", .milliseconds, "-250.0"),
        ("-1.0001", .milliseconds, "-1000.1"),
        ("-0.25", .iso8601, "1969-12-31T23%3A59%3A59Z"),
        ("0.1234567891", .seconds, "0.123456789"),
    ]

    @Test(arguments: dates)
    func `a date is written in five ways [3.A.29] [3.A.30] [3.A.32] [C5]`(
        date: String, style: ValueStyle.Date, text: String
    ) throws {
        #expect(try form("{\"date\":{\"$date\":\(date)}}") { $0.values.date = style } == "date=\(text)")
    }

    private static let faults: [(String, String, String)] = [
        ("[3.A.16] [C12]", "[1]", "/0"),
        ("[3.A.17] [C12]", #""string""#, ""),
        ("[C12]", "1", ""),
        ("[C12]", "null", ""),
        ("[C12]", "[[]]", "/0"),
        ("a pair without name", #"[{"name":"a","value":1},{"value":1}]"#, "/1/name"),
        ("a pair with more", #"[{"name":"a","value":1,"c":1}]"#, "/0/c"),
        ("[3.A.35]", #"{"a":[{"$date":"soon"}]}"#, "/a/0/$date"),
        ("[3.A.35]", #"{"a":{"$date":1e300}}"#, "/a/$date"),
        ("[3.A.35]", #"[{"name":"a","value":{"$date":true}}]"#, "/0/value/$date"),
        ("bytes", #"{"a/b":{"$data":"?"}}"#, "/a~1b/$data"),
        ("decimals", #"{"a":{"$decimal":"1,5"}}"#, "/a/$decimal"),
        ("decimals", #"{"a":{"$decimal":"1e999999999999"}}"#, "/a/$decimal"),
    ]

    @Test(arguments: faults)
    func `what cannot be a form is refused by its place`(label: String, text: String, pointer: String) throws {
        let complaint = #expect(throws: JSONComplaint.self) { try form(text) }
        #expect(complaint?.pointer.description == pointer, "\(label)")
        #expect(complaint?.message.isEmpty == false)
    }

    @Test func `names that would grow without bound are refused`() throws {
        let deep = String(repeating: "[", count: 100) + "1" + String(repeating: "]", count: 100)
        let complaint = #expect(throws: JSONComplaint.self) {
            try form("{\"a\":\(deep)}") { $0.arrays = .template(KeyTemplate("{key}{key}")) }
        }
        #expect(complaint?.message == "the names of the form would be too long")
        #expect(throws: JSONComplaint.self) {
            let template = KeyTemplate(String(repeating: "{key}", count: 2000))
            return try form("{\"a\":{\"\(String(repeating: "b", count: 2000))\":1}}") {
                $0.keyPaths = .template(template)
            }
        }
        let wide = "{\"\(String(repeating: "a", count: 100_000))\":[\(String(repeating: "1,", count: 999))1]}"
        let long = #expect(throws: JSONComplaint.self) { try form(wide) }
        #expect(long?.message.hasPrefix("the form would be longer than") == true)
    }

    @Test func `a list of names and values keeps its order, and names may interleave`() throws {
        let list = #"[{"name":"b","value":1},{"name":"a","value":{"d":1,"c":2}},{"name":"b","value":[3]},{"name":"z"}]"#
        #expect(try form(list) == "b=1&a%5Bc%5D=2&a%5Bd%5D=1&b%5B%5D=3")
        #expect(try form(list) { $0.sorts = true } == "a%5Bc%5D=2&a%5Bd%5D=1&b%5B%5D=3&b=1")
        #expect(try form("[]") == "")
    }

    @Test
    func `pairs can be asked for one by one [3.B.30] [C22]`() throws {
        let pairs = try FormWriter.components(of: json(#"{"bar":[1,"a=b&c"]}"#), under: "foo", FormOptions())
        #expect(pairs.map(\.name) == ["foo%5Bbar%5D%5B%5D", "foo%5Bbar%5D%5B%5D"])
        #expect(pairs.map(\.value) == ["1", "a%3Db%26c"])
    }

    @Test
    func `20,000 characters of another script are escaped [C28]`() throws {
        let text = String(repeating: "\u{4e2d}", count: 20_000)
        #expect(try form("{\"q\":\"\(text)\"}") == "q=" + String(repeating: "%E4%B8%AD", count: 20_000))
    }

    @Test func `a thousand members are sorted by their encoded bytes`() throws {
        let names = (0..<1000).map { "n\($0 &* 7919 % 1000)" }
        let text = try form("{" + names.map { "\"\($0)\":\"\($0)\"" }.joined(separator: ",") + "}")
        #expect(text == names.map { "\($0)=\($0)" }.sorted().joined(separator: "&"))
    }
}
