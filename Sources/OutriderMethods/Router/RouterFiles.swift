// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import OutriderYAML

/// Why a file that should define a router does not: one sentence that names file, line and place.
package struct RouterFileFault: Error, CustomStringConvertible {
    package var description: String
}

/// Routers that are defined in files, and there from the start for all connections.
///
/// A file is a RouterSpec of the contract or an OpenAPI document, in JSON or YAML; without a `name` it is called like its
/// file. Of a directory all files whose names end in .json, .yaml and .yml are read.
package enum RouterFiles {
    private static let endings = [".json", ".yaml", ".yml"]

    /// Blocks; called once, at the start. Throws at the first file that cannot be used.
    package static func load(_ path: String, into service: Service) throws(RouterFileFault) {
        for file in try files(path) {
            let record = try read(file)
            let name = ByteText(record.router.name)
            do throws(RPCError) {
                if service.routers.all.contains(where: { ByteText($0.router.name) == name }) {
                    throw RPCError(.wrongState, "another file defines the router \(record.router.name), too")
                }
                try service.routers.keep(record)
            } catch {
                throw RouterFileFault(description: "\(file): \(error.message)")
            }
        }
    }

    private static func files(_ path: String) throws(RouterFileFault) -> [String] {
        guard DocumentFile.isDirectory(path) else { return [path] }
        do throws(HTTPFailure) {
            let names = try DocumentFile.names(in: path)
            return names.filter { name in endings.contains { name.hasSuffix($0) } }.map { path + "/" + $0 }
        } catch {
            throw RouterFileFault(description: error.message)
        }
    }

    private static func read(_ file: String) throws(RouterFileFault) -> RouterRecord {
        let bytes: [UInt8]
        do throws(HTTPFailure) {
            bytes = try DocumentFile.read(file, limit: WrittenDocument.maximumBytes)
        } catch {
            throw RouterFileFault(description: error.message)
        }
        var isRead = false
        do throws(JSONComplaint) {
            let document = try WrittenDocument.parse(bytes)
            isRead = true
            return try record(document, file)
        } catch {
            let line = isRead ? "line \(YAMLDocument.line(of: error.pointer, in: bytes)): " : ""
            let place = error.pointer == .root ? "" : " (at \(error.pointer))"
            throw RouterFileFault(description: "\(file), \(line)\(error.placed())\(place)")
        }
    }

    private static func record(_ document: JSONValue, _ file: String) throws(JSONComplaint) -> RouterRecord {
        let name = stem(file)
        if document.object?["openapi"] != nil || document.object?["swagger"] != nil {
            var options = OpenAPIImport.Options()
            options.name = name
            return RouterRecord(
                try OpenAPIImport.router(from: document, options: options), isShared: true, source: file)
        }
        guard case .object(var object) = document else {
            throw JSONComplaint("a router must be an object, not \(document.typeName)")
        }
        if object["name"] == nil { object["name"] = .string(name) }
        var budget = WorkBudget()
        let router = try RouterDefinition(json: .object(object), budget: &budget).router
        return RouterRecord(router, isShared: true, source: file)
    }

    private static func stem(_ file: String) -> String {
        let name = file.split(separator: "/").last.map(String.init) ?? file
        return endings.first { name.hasSuffix($0) && name != $0 }.map { String(name.dropLast($0.count)) } ?? name
    }
}
