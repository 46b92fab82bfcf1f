// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// Writing a property list in either form.
extension PropertyList {
    package func encoded(as format: Format) throws(JSONComplaint) -> [UInt8] {
        switch format {
        case .xml:
            var writer = XMLPropertyListWriter()
            return try writer.document(self)
        case .binary:
            var writer = BinaryPropertyListWriter()
            return writer.document(self)
        }
    }
}
