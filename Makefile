# Two targets are all a newcomer needs: `make demo` and `make test`.
SWIFT ?= swift
TEST_FLAGS = -c release -Xswiftc -enable-testing --scratch-path .build/tests

.PHONY: demo test build bootstrap check deep test-real bench clean

bootstrap:
	@Scripts/bootstrap

build: bootstrap
	$(SWIFT) build -c release --product troika

demo: build
	@Scripts/demo

test: bootstrap
	$(SWIFT) test $(TEST_FLAGS)

check:
	@Scripts/check

deep:
	@Scripts/check --deep

test-real: bootstrap
	@Scripts/test-real

bench: build
	@Scripts/bench-peers

clean:
	rm -rf .build
