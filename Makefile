# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
#
# Nothing clever: every target is a script or a command that can be typed by hand.

SWIFT := swift build --explicit-target-dependency-import-check error
# docs/internals/architecture.md, "What it costs", explains the two flags of the compiler; docs/internals/security.md, "The process", those of the linker.
RELEASE := -c release --static-swift-stdlib -Xswiftc -enforce-exclusivity=unchecked -Xswiftc -cross-module-optimization --disable-local-rpath -Xlinker -pie -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now
PREFIX ?= /usr/local

.PHONY: help setup build test check format schema docs run bench install clean

help:
	@echo 'make run      build, start the service and a small origin, and show how to call it'
	@echo 'make test     every test, Swift and Python'
	@echo 'make build    the release binary: .build/release/outrider'
	@echo 'make check    formatting, walls, words, links; says which command mends what it finds'
	@echo 'make format   rewrite the Swift files in the one format'
	@echo 'make schema   assemble schema/ into openrpc.json, the Swift and Python tables and docs/reference'
	@echo 'make docs     the same, and docs/alamofire.md, which says which test shows what'
	@echo 'make bench    side by side with other HTTP clients'
	@echo 'make install  the binary to $$PREFIX/bin, user units for systemd to $$PREFIX/share/systemd/user'
	@echo 'make clean    forget everything that was built'

setup:
	@scripts/setup

build: setup
	$(SWIFT) $(RELEASE) --product outrider

run: build
	@scripts/run

test:
	@scripts/setup --test
	@scripts/test

check:
	@scripts/check

format:
	swift format --in-place --recursive --parallel Package.swift Sources Tests

schema docs:
	python3 schema/assemble.py && python3 clients/python/unasync.py
	scripts/rows

bench: build
	@scripts/setup --bench
	for part in run transfers sse; do .build/bench/bin/python Benchmarks/$$part.py || exit; done

install: build
	install -D .build/release/outrider $(DESTDIR)$(PREFIX)/bin/outrider
	install -d $(DESTDIR)$(PREFIX)/share/systemd/user
	sed 's|@BIN@|$(PREFIX)/bin|' scripts/systemd/outrider.service > $(DESTDIR)$(PREFIX)/share/systemd/user/outrider.service
	install -m 644 scripts/systemd/outrider.socket $(DESTDIR)$(PREFIX)/share/systemd/user/outrider.socket

clean:
	swift package clean
	rm -rf .build/venv .build/clients .build/bench
