# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors

SWIFT := swift build --explicit-target-dependency-import-check error
# docs/internals/architecture.md, "Performance", explains the flags of the compiler; docs/internals/security.md, "The process", those of the linker.
RELEASE := -c release --static-swift-stdlib --omit-frame-pointers -Xswiftc -enforce-exclusivity=unchecked -Xswiftc -cross-module-optimization -Xswiftc -Xfrontend -Xswiftc -disable-type-layout --disable-local-rpath -Xlinker --no-export-dynamic -Xlinker -pie -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now -Xswiftc -Xfrontend -Xswiftc -function-sections -Xcc -ffunction-sections -Xswiftc -use-ld=lld -Xlinker "--symbol-ordering-file=$(CURDIR)/Benchmarks/hot-functions.txt" -Xlinker --no-warn-symbol-ordering
PREFIX ?= /usr/local

.PHONY: help setup build test test-quick check format schema docs run bench fuzz sanitize soak install uninstall deb wheel clean

help:
	@echo 'make run      build, start the service and a small origin, and show how to call it'
	@echo 'make test     every test, Swift and Python; make test-quick: the rules and the usual cases, in two minutes'
	@echo 'make build    the release binary: .build/release/outrider'
	@echo 'make check    formatting, walls, words, links; says what mends each finding; make format: rewrites the Swift files'
	@echo 'make schema   assemble schema/ into openrpc.json, the tables, docs/reference and docs/alamofire.md; make docs: the same'
	@echo 'make bench    side by side with other HTTP clients; make fuzz, make soak: TIME=60 seconds of damaged input, of load; make sanitize: races'
	@echo 'make install  the binary, manual pages, completions and user units for systemd, below $$PREFIX (/usr/local); make uninstall'
	@echo 'make deb      a Debian package in .build/packages; make wheel: a Python wheel with the binary; make clean: forget all'

setup check:
	@scripts/$@

build: setup
	$(SWIFT) $(RELEASE) --product outrider

run: build
	@scripts/run

test test-quick:
	@scripts/setup --test
	@scripts/test $(if $(filter test-quick,$@),--quick)

format:
	swift format --in-place --recursive --parallel Package.swift Sources Tests

schema docs:
	python3 schema/assemble.py && python3 clients/python/unasync.py
	scripts/rows

bench: build
	@scripts/setup --bench
	for part in instructions run client transfers sse http2 conversations caching loops; do .build/bench/bin/python Benchmarks/$$part.py || exit; done

fuzz soak: build
	@scripts/setup --test
	scripts/$@ --seconds $(or $(TIME),60)

sanitize:
	@scripts/setup --test && scripts/sanitize

install: build
install uninstall:
	DESTDIR="$(DESTDIR)" scripts/package $@ "$(PREFIX)"

deb wheel: build
	@scripts/setup --package && scripts/package $@

clean:
	swift package clean && rm -rf .build/venv .build/clients .build/bench .build/objects .build/pycache
