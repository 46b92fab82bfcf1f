// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

private func text(_ value: String, _ change: (inout JSONOptions) -> Void = { _ in }) throws -> String {
    var options = JSONOptions()
    change(&options)
    return String(decoding: try JSONBodyWriter.bytes(of: json(value), options), as: UTF8.self)
}

@Suite struct JSONBodyWriterTests {
    @Test(arguments: [
        #"{"b":1,"a":[true,false,null,"x"],"c":{}}"#, "[]", "[1]", "\"text\"", "1.50", "null",
        "18446744073709551615",
        "{\"e\":\"\u{e9}\u{1F600}\",\"q\":\"\\\"\\\\\\n\\r\\t\\u0001/\"}", #"{"a":{"$id":1}}"#,
        #"{"x":1.0,"y":1e3}"#,
    ])
    func `values are written as they were given [C19] [C23] [C27] [3.B.26]`(value: String) throws {
        #expect(try text(value) == value)
    }

    @Test
    func `JSON can be pretty and sorted [C19]`() throws {
        let value = #"{"b":[1,{"d":2,"c":[]}],"a":{}}"#
        #expect(try text(value) { $0.sortKeys = true } == #"{"a":{},"b":[1,{"c":[],"d":2}]}"#)
        let lines = [
            "{", "  \"b\": [", "    1,", "    {", "      \"d\": 2,", "      \"c\": []", "    }", "  ],", "  \"a\": {}",
            "}",
        ]
        #expect(try text(value) { $0.pretty = true } == lines.joined(separator: "\n"))
        #expect(
            try text(#"{"myURLProperty":{"oneTwo":1}}"#) { $0.keys = .snake } == #"{"my_url_property":{"one_two":1}}"#)
    }

    @Test func `tagged values become what JSON has a form for`() throws {
        let value = #"{"d":{"$data":"AP8="},"t":{"$date":978307323.456},"n":{"$decimal":"1.10"}}"#
        #expect(try text(value) == #"{"d":"AP8=","t":"2001-01-01T00:02:03Z","n":1.1}"#)
        let other = try text(value) { options in
            options.values.data = .bytes
            options.values.date = .milliseconds
        }
        #expect(other == #"{"d":[0,255],"t":978307323456.0,"n":1.1}"#)
        #expect(try text(value) { $0.values.data = .hex }.hasPrefix(#"{"d":"00ff""#))
        let complaint = #expect(throws: JSONComplaint.self) { try text("[\(value)]") { $0.values.data = .raw } }
        #expect(complaint?.pointer.description == "/0/d")
    }

    @Test func `whatever is written can be read again, and is the same`() throws {
        let samples = [
            #"{"a":[1,-2.50,1e3,{"b":null}],"c":"\u00e9\ud83d\ude00\n","d":true}"#,
            #"{"t":{"$date":"2001-01-01T00:02:03Z"},"d":{"$data":"AA=="},"n":{"$decimal":"1.0"}}"#,
        ]
        var accepted = 0
        for sample in Mutations(of: samples, count: 30_000, seed: 23, spice: "{}[]\",:\\$0123456789.eE-abdtn") {
            guard let value = try? json(sample) else { continue }
            for (data, date) in [(ValueStyle.Data.base64, ValueStyle.Date.iso8601), (.bytes, .seconds)] {
                var options = JSONOptions()
                options.values.data = data
                options.values.date = date
                options.pretty = data == .bytes
                guard let bytes = try? JSONBodyWriter.bytes(of: value, options) else { continue }
                accepted += 1
                let again = try json(String(decoding: bytes, as: UTF8.self))
                #expect(try JSONBodyWriter.bytes(of: again, options) == bytes, "\(sample)")
            }
            _ = try? FormValues(value)
            _ = try? FormWriter.text(of: FormValues([.init("v", value)]), FormOptions())
            _ = try? PropertyList(value).encoded(as: .xml)
            _ = try? PropertyList(value).encoded(as: .binary)
        }
        #expect(accepted > 500)
    }
}
