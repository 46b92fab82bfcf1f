// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderHTTP
import OutriderJSON

/// Checks everything that a working service needs, and names remedies.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks the service and its surroundings.",
        discussion: """
            A line for each check: `ok`, `note` or `FAULT`, with the remedy. Starts nothing and changes nothing.

            Exit status: 0 no fault; 1 a fault.
            """)

    @OptionGroup var place: ServicePlace

    func run() throws {
        var report = DoctorReport()
        configuration(&report)
        service(&report)
        lock(&report)
        key(&report)
        roots(&report)
        proxies(&report)
        limits(&report)
        for line in report.lines { try StandardOutput.line(line.printable.utf8) }
        if report.faults > 0 { throw CommandFailure(.error, nil) }
    }

    private func configuration(_ report: inout DoctorReport) {
        report.attempt("configuration") { () throws(CommandFailure) in
            guard let file = try ConfigFile.load(named: nil) else {
                return .fine("none (\(ConfigFile.usualPath ?? ConfigFile.absence))")
            }
            return .fine("\(file.path), \(file.entries.count) settings")
        }
    }

    private func service(_ report: inout DoctorReport) {
        var running: RunningService?
        report.attempt("service") { () throws(CommandFailure) in
            let path = try place.path()
            guard let wire = try path.connect() else {
                if path.isOfAnotherKind {
                    return .fault("\(path.path) is no socket (remove it, or choose another path with --socket)")
                }
                if let obstacle = path.obstacle {
                    return .fault("none runs at \(path.path), and none can start: \(obstacle)")
                }
                return access(path.path, F_OK) == 0
                    ? .note("a socket without a service is at \(path.path): the next start replaces it")
                    : .note("none runs at \(path.path) (outrider serve, or --spawn)")
            }
            var client = ServiceClient(wire)
            let service = try RunningService(over: &client)
            running = service
            if let age = service.age { return .note("\(age) (outrider restart)") }
            return .fine("version \(service.version), process \(service.pid), \(service.duration), at \(path.path)")
        }
        guard let running else { return }
        report.attempt("environment") { () throws(CommandFailure) in running.environment }
    }

    private func roots(_ report: inout DoctorReport) {
        report.attempt("trust roots") { () throws(CommandFailure) in
            let named = try ConfigFile.load(named: nil)?.entries.last { $0.key == "ca-file" }?.text
            if let path = named ?? environmentVariable("SSL_CERT_FILE") {
                if access(path, R_OK) == 0 { return .fine(path) }
                return .fault("\(path) cannot be read: \(systemError(errno)) (mend ca-file or SSL_CERT_FILE)")
            }
            let places = [
                "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
            ]
            if let found = places.first(where: { access($0, R_OK) == 0 }) { return .fine(found) }
            return .fault("no root certificates are installed: install ca-certificates, or set ca-file")
        }
    }

    private func proxies(_ report: inout DoctorReport) {
        report.attempt("proxies") { () throws(CommandFailure) in
            let names = ["http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY", "OUTRIDER_PROXY"]
            let set = names.filter { environmentVariable($0) != nil }
            do throws(HTTPFailure) {
                _ = try ProxyEnvironment { environmentVariable($0) }.rules()
                _ = try ProxyRules.named(environmentVariable("OUTRIDER_PROXY")) { environmentVariable($0) }
            } catch {
                return .fault("\(set.joined(separator: ", ")): \(error.message) (mend or unset the variable)")
            }
            return set.isEmpty
                ? .fine("no variable names one") : .fine("variables that count: \(set.joined(separator: ", "))")
        }
    }

    private func limits(_ report: inout DoctorReport) {
        report.attempt("descriptors") { () throws(CommandFailure) in
            var limit = rlimit()
            guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
                return .note("the limit is unknown: \(systemError(errno))")
            }
            let count = UInt64(limit.rlim_max)
            if count >= 1024 { return .fine("at most \(count == UInt64.max ? "any number" : String(count))") }
            return .note("at most \(count): few connections at once (ulimit -Hn)")
        }
        report.attempt("clock") { () throws(CommandFailure) in
            // a clock at the epoch refuses every certificate
            if time(nil) > 1_700_000_000 { return .fine("set") }
            return .fault("the clock is years behind, so certificates are refused (timedatectl set-ntp true)")
        }
    }
}

/// The lines of a report, and the number of faults.
struct DoctorReport {
    enum Finding {
        case fine(String)
        case note(String)
        case fault(String)
    }

    private(set) var lines: [String] = []
    private(set) var faults = 0

    /// Notes the finding of a check; a check that throws is a fault.
    mutating func attempt(_ name: String, _ check: () throws(CommandFailure) -> Finding) {
        let finding: Finding
        do throws(CommandFailure) {
            finding = try check()
        } catch {
            finding = .fault(error.message ?? "unknown")
        }
        switch finding {
        case .fine(let text): lines.append("ok     \(name): \(text)")
        case .note(let text): lines.append("note   \(name): \(text)")
        case .fault(let text):
            faults += 1
            lines.append("FAULT  \(name): \(text)")
        }
    }
}
