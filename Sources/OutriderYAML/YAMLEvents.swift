// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CYaml

/// A fault, without the place.
struct YAMLWordFault: Error {
    var reason: String
}

/// libyaml's events, copied into Swift values.
///
/// The memory of libyaml never leaves this file.
struct YAMLEvents: ~Copyable {
    struct Scalar {
        var text: String
        var isPlain: Bool
        var tag: String?
        var anchor: String?
    }

    enum Event {
        case streamStart, streamEnd, documentStart, documentEnd
        case scalar(Scalar)
        case alias(String)
        case sequenceStart(anchor: String?), sequenceEnd
        case mappingStart(anchor: String?), mappingEnd
    }

    private let parser: UnsafeMutablePointer<yaml_parser_t>
    /// libyaml reads the input in place, without a copy.
    private let input: UnsafeMutableBufferPointer<UInt8>
    /// The line of the latest event, from 1.
    private(set) var line = 1

    init(_ bytes: [UInt8]) {
        parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        input = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, bytes.count))
        _ = input.initialize(fromContentsOf: bytes)
        yaml_parser_initialize(parser)
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, input.baseAddress, bytes.count)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
        input.deallocate()
    }

    mutating func next() throws(YAMLWordFault) -> Event {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else {
            line = Int(clamping: parser.pointee.problem_mark.line) &+ 1
            throw YAMLWordFault(reason: Self.text(parser.pointee.problem) ?? "it is not YAML")
        }
        defer { yaml_event_delete(&event) }
        line = Int(clamping: event.start_mark.line) &+ 1
        switch event.type {
        case YAML_STREAM_START_EVENT: return .streamStart
        case YAML_DOCUMENT_START_EVENT: return .documentStart
        case YAML_DOCUMENT_END_EVENT: return .documentEnd
        case YAML_ALIAS_EVENT: return .alias(Self.text(event.data.alias.anchor) ?? "")
        case YAML_SCALAR_EVENT: return .scalar(Self.scalar(event.data.scalar))
        case YAML_SEQUENCE_START_EVENT:
            try Self.check(Self.text(event.data.sequence_start.tag), "seq")
            return .sequenceStart(anchor: Self.text(event.data.sequence_start.anchor))
        case YAML_SEQUENCE_END_EVENT: return .sequenceEnd
        case YAML_MAPPING_START_EVENT:
            try Self.check(Self.text(event.data.mapping_start.tag), "map")
            return .mappingStart(anchor: Self.text(event.data.mapping_start.anchor))
        case YAML_MAPPING_END_EVENT: return .mappingEnd
        default: return .streamEnd
        }
    }

    private static func scalar(_ scalar: yaml_event_s.__Unnamed_union_data.__Unnamed_struct_scalar) -> Scalar {
        let bytes = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
        return Scalar(
            text: String(decoding: bytes, as: UTF8.self), isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE,
            tag: text(scalar.tag), anchor: text(scalar.anchor))
    }

    private static func check(_ tag: String?, _ kind: String) throws(YAMLWordFault) {
        guard let tag, tag != "!", tag != "tag:yaml.org,2002:" + kind else { return }
        throw YAMLWordFault(reason: "the tag \(tag.prefix(80)) is not known: leave it out")
    }

    private static func text(_ start: UnsafePointer<CChar>?) -> String? { start.map { String(cString: $0) } }

    private static func text(_ start: UnsafeMutablePointer<UInt8>?) -> String? {
        start.map { String(cString: UnsafePointer($0)) }
    }
}
