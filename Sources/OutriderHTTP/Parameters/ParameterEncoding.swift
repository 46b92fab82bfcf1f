// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// The encoding of `parameters` in a request.
package enum ParameterEncoding: Sendable {
    case form(FormOptions, Destination)
    case json(JSONOptions)
    case propertyList(PropertyList.Format)
    /// The caller's own code writes the query or the body.
    case custom(CallbackSpec)

    /// The place of a form in the request.
    package enum Destination: String, Sendable, CaseIterable {
        /// Into the query for GET, HEAD and DELETE, and beside a body; else into the body.
        case methodDependent
        case queryString, httpBody
    }

    /// The name in the contract.
    package enum Kind: String, Sendable, CaseIterable {
        case urlEncodedForm, json, propertyList, custom
    }

    package var kind: Kind {
        switch self {
        case .form: .urlEncodedForm
        case .json: .json
        case .propertyList: .propertyList
        case .custom: .custom
        }
    }
}

/// The parameters of a request, and their encoding.
///
/// A class, so that requests without parameters carry only a pointer.
package final class ParameterSpec: Sendable {
    package let value: JSONValue
    package let encoding: ParameterEncoding

    package init(_ value: JSONValue, _ encoding: ParameterEncoding = .form(FormOptions(), .methodDependent)) {
        self.value = value
        self.encoding = encoding
    }

    /// The caller's own code that encodes them, if any does.
    package var encoder: CallbackSpec? {
        if case .custom(let spec) = encoding { spec } else { nil }
    }
}

/// Encoded parameters.
package enum EncodedParameters: Sendable, Equatable {
    /// No parameters to add: the request stays unchanged.
    case nothing
    /// For the query of the URL, without a question mark.
    case query(String)
    case body([UInt8], contentType: String)

    /// Encodes all but `custom`, which needs a callback.
    ///
    /// - Parameters:
    ///   - hasBody: whether the request has a body beside its parameters.
    ///   - pointer: to the parameters, for failures.
    package static func encode(
        _ spec: ParameterSpec, method: String, hasBody: Bool, at pointer: JSONPointer
    ) throws(HTTPFailure) -> EncodedParameters {
        do throws(JSONComplaint) {
            switch spec.encoding {
            case .form(let options, let destination):
                return try form(
                    spec.value, options, inQuery: isQuery(destination, method: method, hasBody: hasBody))
            case .json(let options):
                return .body(try JSONBodyWriter.bytes(of: spec.value, options), contentType: "application/json")
            case .propertyList(let format):
                let bytes = try PropertyList(spec.value).encoded(as: format)
                return .body(bytes, contentType: PropertyList.contentType)
            case .custom:
                throw JSONComplaint("parameters with an encoding of their caller's own have not been encoded")
            }
        } catch {
            throw failure(error, spec.encoding.kind, at: pointer)
        }
    }

    /// Whether a form goes into the query.
    static func isQuery(_ destination: ParameterEncoding.Destination, method: String, hasBody: Bool) -> Bool {
        switch destination {
        case .queryString: true
        case .httpBody: false
        case .methodDependent: hasBody || ["GET", "HEAD", "DELETE"].contains(method)
        }
    }

    private static func form(
        _ value: JSONValue, _ options: FormOptions, inQuery: Bool
    ) throws(JSONComplaint) -> EncodedParameters {
        let bytes = try FormWriter.bytes(of: FormValues(value), options)
        if bytes.isEmpty { return .nothing }
        if inQuery { return .query(String(decoding: bytes, as: UTF8.self)) }
        return .body(bytes, contentType: FormOptions.contentType)
    }

    private static func failureKind(_ kind: ParameterEncoding.Kind) -> HTTPFailure.Kind {
        switch kind {
        case .urlEncodedForm, .propertyList: .parameterEncoderFailed
        case .json: .parameterEncodingFailed
        case .custom: .customEncodingFailed
        }
    }

    package static func failure(
        _ complaint: JSONComplaint, _ kind: ParameterEncoding.Kind, at pointer: JSONPointer
    ) -> HTTPFailure {
        let placed = JSONComplaint(complaint.message, at: pointer.appending(complaint.pointer))
        return HTTPFailure(failureKind(kind), placed.placed(), pointer: placed.pointer.description)
    }
}
