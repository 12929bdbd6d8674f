# flexlocal: everything is built, tested and shown from here. `make help` lists the targets.

BUILD ?= build
DESTDIR ?=
PREFIX ?= /usr
# kubelet's --volume-plugin-dir on the machine that `make install` is for.
PLUGINDIR ?= /usr/libexec/kubernetes/kubelet-plugins/volume/exec
IMAGE ?= flexlocal.io/flexlocal:0.1
# Both programs print it: as git describes the source, where there is a git.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# As many jobs as there are processors, unless told otherwise.
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += --jobs=$(shell nproc)
endif

# g++ unless told otherwise: `make CXX=clang++`.
ifeq ($(origin CXX),default)
CXX := g++
endif
compiler := $(shell $(CXX) --version | head -n 1)
# Asio's own code is compiled once, in provisioner/kube/asio.cc, not in each file that uses it.
override CPPFLAGS += -I. -DBOOST_ASIO_NO_DEPRECATED -DBOOST_ASIO_SEPARATE_COMPILATION
# What is given on make's command line comes beside ours, not in its place. -g1 knows functions and
# lines, which is what a stack says; -g, which knows variables, takes a third longer. By -Os, and without
# what nothing calls, the text of the daemons is two fifths smaller than by -O2: on each node that is memory.
CXXFLAGS ?= -Os -g1 -ffunction-sections -fdata-sections
override CXXFLAGS += -std=c++20 -pthread -fno-strict-aliasing -Wall -Wextra -Wpedantic -Wshadow \
  -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Werror
override LDFLAGS += -pthread

# g++ collects garbage only above that many KiB: a seventh of its time, and no file takes more.
ifeq ($(findstring clang,$(compiler)),)
override CXXFLAGS += --param ggc-min-heapsize=500000
endif

# make SANITIZE=address,undefined check-unit: objects of their own, so that they never mix.
ifdef SANITIZE
OUT := $(BUILD)/sanitize
override CXXFLAGS += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
override LDFLAGS += -fsanitize=$(SANITIZE)
else
OUT := $(BUILD)
endif

base := $(wildcard flexvolume/base/*.cc)
engine := $(wildcard flexvolume/engine/*.cc flexvolume/engine/*/*.cc)
plugin := $(filter-out flexvolume/main.cc,$(wildcard flexvolume/*.cc flexvolume/cli/*.cc))
kube := $(wildcard provisioner/kube/*.cc)
provisioner := $(filter-out $(kube),$(wildcard provisioner/*/*.cc provisioner/*/*/*.cc))
unit := $(wildcard test/unit/*.cc test/unit/*/*.cc test/unit/*/*/*.cc)
sources := flexvolume/main.cc provisioner/main.cc $(base) $(engine) $(plugin) $(kube) $(provisioner)
headers := $(wildcard $(foreach depth,* */* */*/*,$(addsuffix /$(depth).h,flexvolume provisioner test/unit)) test/fuzz/*.h)

killers := $(OUT)/tracer $(OUT)/kill-after
node_calls := $(OUT)/engine-call $(OUT)/change-call

objects = $(patsubst %.cc,$(OUT)/%.o,$(1))

# Headers that are compiled once, a folder's precompiled.h: with them the whole build takes about
# half the time. Files include what they use all the same, and `make PRECOMPILE=` compiles them so.
PRECOMPILE ?= yes
pch_flexvolume := $(filter-out flexvolume/base/version.cc,flexvolume/main.cc $(base) $(engine) $(plugin))
pch_provisioner := provisioner/main.cc $(kube) $(provisioner)
pch_test/unit := $(filter-out test/unit/main.cc,$(unit))
# use_pch FILE: what a compiler is told. A g++ that cannot use the file ends with an error. It also forgets
# that precompiled code is the library's, where its guesses about bounds are known to be wrong: `make
# portability` compiles without, and so with those warnings.
use_pch = $(if $(findstring clang,$(compiler)),-include-pch $(1).gch,-Winvalid-pch -include $(1) $(guesses))
guesses := -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict

.PHONY: all
all: $(OUT)/flexlocal $(OUT)/flexlocal-provisioner  ## build both programs

.SECONDARY: $(BUILD)/setup-build $(BUILD)/setup-lab $(BUILD)/setup-lint $(BUILD)/setup-fuzz $(BUILD)/setup-conformance

# Packages are looked for once, and again when the list of them changes.
$(BUILD)/setup-%: scripts/setup
	@mkdir -p $(@D)
	scripts/setup $*
	@touch $@

FUZZ_FLAGS := -std=c++20 -pthread -O1 -gline-tables-only -fno-omit-frame-pointer -Wall -Wextra -Werror \
  -fsanitize=address,undefined -fno-sanitize-recover=all -fsanitize-ignorelist=test/fuzz/ignorelist

# With another compiler or other flags everything is compiled again.
flags := $(compiler) $(CPPFLAGS) $(CXXFLAGS) / $(FUZZ_FLAGS)
$(OUT)/generated/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(flags)' | cmp -s - $@ || echo '$(flags)' > $@

$(OUT)/%.o: %.cc $(OUT)/generated/flags | $(BUILD)/setup-build
	@mkdir -p $(@D)
	@echo "  CXX  $<"
	@$(CXX) $(pch) $(CPPFLAGS) $(CXXFLAGS) -MMD -MP -c $< -o $@

$(OUT)/%/precompiled.h.gch: %/precompiled.h $(OUT)/generated/flags | $(BUILD)/setup-build
	@mkdir -p $(@D)
	@echo "  PCH  $<"
	@$(CXX) $(CPPFLAGS) $(CXXFLAGS) -MMD -MP -MF $(@:.gch=.d) -MT $@ -x c++-header $< -o $@

define precompiled
$(call objects,$(pch_$(1))): $(OUT)/$(1)/precompiled.h.gch
$(call objects,$(pch_$(1))): pch := $(call use_pch,$(OUT)/$(1)/precompiled.h)
endef
ifdef PRECOMPILE
$(foreach folder,flexvolume provisioner test/unit,$(eval $(call precompiled,$(folder))))
endif

# Tests are read more often than they run: what they test is compiled as it ships, they are not.
$(call objects,$(unit)) $(OUT)/test/unit/precompiled.h.gch: override CXXFLAGS += -O0

# What takes in whole lists and watches counts in time: RapidJSON takes three times as long by -Os.
fast := flexvolume/base/json.cc $(addprefix provisioner/kube/,event_scan.cc list_decoder.cc object_filter.cc \
  packed.cc watch_decoder.cc) test/bench/watch_decode.cc
for_time := $(if $(filter -Os,$(CXXFLAGS)),-O2)
$(call objects,$(fast)): override CXXFLAGS += $(for_time)
$(call objects,$(fast)): pch :=

# The one file that knows the version is made again when the version changes.
$(OUT)/generated/flexlocal_version.h: FORCE
	@mkdir -p $(@D)
	@echo '#define FLEXLOCAL_VERSION "$(VERSION)"' | cmp -s - $@ || \
	  echo '#define FLEXLOCAL_VERSION "$(VERSION)"' > $@
$(OUT)/flexvolume/base/version.o: $(OUT)/generated/flexlocal_version.h
$(OUT)/flexvolume/base/version.o: override CPPFLAGS += -I$(OUT)/generated
.PHONY: FORCE
FORCE:

# The plugin is static: kube-controller-manager may start it too, on a host or in a container
# that has none of our libraries. Sanitizers have no static run-time, so they get a dynamic one.
$(OUT)/flexlocal: $(call objects,flexvolume/main.cc $(plugin) $(engine) $(base))
	@echo "  LD   $@"
	@$(CXX) $(LDFLAGS) $(if $(SANITIZE),,-static -Wl,--gc-sections -Wl,--no-warnings) $^ -o $@ -lboost_program_options

# The same objects for valgrind, which sees memory only where it can take the place of the C
# library's malloc and string functions: in a static program it cannot.
$(OUT)/flexlocal-dynamic: $(call objects,flexvolume/main.cc $(plugin) $(engine) $(base))
	@echo "  LD   $@"
	@$(CXX) $(LDFLAGS) $^ -o $@ -lboost_program_options

# Boost's library is linked in: its package's name carries its version, the image need not. Of the
# others that are there as archives only what is used comes along, which takes 1.6 MiB off the
# memory of each node's daemon.
daemon_libraries := -l:libboost_program_options.a -lcurl $(if $(SANITIZE),-lyaml-cpp -lsodium,\
  -static-libstdc++ -static-libgcc -Wl,--gc-sections -l:libyaml-cpp.a -l:libsodium.a)
$(OUT)/flexlocal-provisioner: $(call objects,provisioner/main.cc $(provisioner) $(kube) $(engine) $(base))
	@echo "  LD   $@"
	@$(CXX) $(LDFLAGS) $^ -o $@ $(daemon_libraries)

$(OUT)/unit-tests: $(call objects,$(unit) $(provisioner) $(kube) $(plugin) $(engine) $(base))
	@echo "  LD   $@"
	@$(CXX) $(LDFLAGS) $^ -o $@ -lboost_program_options -lcurl -lyaml-cpp -lsodium -lssl -lcrypto

# What the node tier's tests call for operations that only the daemon does.
$(OUT)/engine-call: $(call objects,test/node/engine_call.cc flexvolume/protocol.cc $(engine) $(base))
	@echo "  LD   $@"
	@$(CXX) $(LDFLAGS) $(if $(SANITIZE),,-static -Wl,--gc-sections -Wl,--no-warnings) $^ -o $@ -lboost_program_options

# What the node daemon hears from the kernel.
$(OUT)/change-call: $(call objects,test/node/change_call.cc provisioner/agent/device_events.cc provisioner/kube/async.cc provisioner/kube/asio.cc $(base))
	@echo "  LD   $@"
	@$(CXX) $(LDFLAGS) $(if $(SANITIZE),,-static -Wl,--gc-sections -Wl,--no-warnings) $^ -o $@

# What the cluster tier's tests write VolumeCopies with.
$(OUT)/copy-call: $(call objects,test/cluster/copy_call.cc $(provisioner) $(kube) $(engine) $(base))
	@echo "  LD   $@"
	@$(CXX) $(LDFLAGS) $^ -o $@ $(daemon_libraries)

# What test/bench measures the client library with.
$(OUT)/watch-decode: $(call objects,test/bench/watch_decode.cc $(provisioner) $(kube) $(engine) $(base))
	@echo "  LD   $@"
	@$(CXX) $(LDFLAGS) $^ -o $@ $(daemon_libraries)

$(OUT)/node-simulator: $(call objects,test/bench/node_simulator.cc $(provisioner) $(kube) $(engine) $(base))
	@echo "  LD   $@"
	@$(CXX) $(LDFLAGS) $^ -o $@ $(daemon_libraries)

# Fuzz targets: one program for each test/fuzz/*.cc, by clang, whose libFuzzer it is; objects of
# their own, with the coverage and the sanitizers that libFuzzer looks at.
FUZZ_SECONDS ?= 20
fuzz := $(wildcard test/fuzz/*.cc)
fuzz_programs := $(patsubst test/fuzz/%.cc,$(BUILD)/fuzz/%,$(fuzz))
fuzz_pch := $(if $(PRECOMPILE),$(BUILD)/fuzz/flexvolume/precompiled.h.gch)
$(BUILD)/fuzz/%.o: %.cc test/fuzz/ignorelist $(OUT)/generated/flags $(fuzz_pch) | $(BUILD)/setup-fuzz
	@mkdir -p $(@D)
	@echo "  FUZZ $<"
	@clang++ $(addprefix -include-pch ,$(fuzz_pch)) $(CPPFLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link \
	  -MMD -MP -c $< -o $@
$(BUILD)/fuzz/flexvolume/precompiled.h.gch: flexvolume/precompiled.h test/fuzz/ignorelist $(OUT)/generated/flags | $(BUILD)/setup-fuzz
	@mkdir -p $(@D)
	@echo "  PCH  $<"
	@clang++ $(CPPFLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -MMD -MP -MF $(@:.gch=.d) -MT $@ \
	  -x c++-header $< -o $@
$(BUILD)/fuzz/flexvolume/base/version.o: $(OUT)/generated/flexlocal_version.h
$(BUILD)/fuzz/flexvolume/base/version.o: override CPPFLAGS += -I$(OUT)/generated
$(fuzz_programs): $(BUILD)/fuzz/%: $(BUILD)/fuzz/test/fuzz/%.o \
  $(patsubst %.cc,$(BUILD)/fuzz/%.o,$(filter-out flexvolume/cli/%,$(plugin)) $(engine) $(base))
	@echo "  LD   $@"
	@clang++ $(FUZZ_FLAGS) -fsanitize=fuzzer $^ -o $@ -lboost_program_options

# The killers of the node tier: static, so that they start fast where starting costs most.
$(OUT)/tracer: $(call objects,test/node/tracer.cc test/node/stopped_call.cc)
$(OUT)/kill-after: $(call objects,test/node/kill_after.cc)
$(OUT)/tracer $(OUT)/kill-after:
	@echo "  LD   $@"
	@$(CXX) $(LDFLAGS) $(if $(SANITIZE),,-static) $^ -o $@

-include $(shell find $(OUT) -name '*.d' 2>/dev/null)

# The container image: both programs without debug information, and the libraries they need.
$(BUILD)/stripped/%: $(BUILD)/%
	@mkdir -p $(@D)
	@strip -o $@ $<
$(BUILD)/image.tar: $(BUILD)/stripped/flexlocal $(BUILD)/stripped/flexlocal-provisioner scripts/image
	scripts/image $@ $(IMAGE) usr/bin/flexlocal=$(BUILD)/stripped/flexlocal \
	  usr/bin/flexlocal-provisioner=$(BUILD)/stripped/flexlocal-provisioner
.PHONY: image
image: $(BUILD)/image.tar  ## make the container image, a docker-archive

.PHONY: install
install: all  ## install under DESTDIR: the daemon, the manuals, and the plugin for kubelet
	install -D -m 0755 $(OUT)/flexlocal-provisioner $(DESTDIR)$(PREFIX)/sbin/flexlocal-provisioner
	install -D -m 0644 flexvolume/flexlocal.8 $(DESTDIR)$(PREFIX)/share/man/man8/flexlocal.8
	install -D -m 0644 provisioner/flexlocal-provisioner.8 $(DESTDIR)$(PREFIX)/share/man/man8/flexlocal-provisioner.8
	install -d $(DESTDIR)$(PLUGINDIR)
	$(OUT)/flexlocal install $(abspath $(DESTDIR)$(PLUGINDIR))

.PHONY: check check-unit check-node check-cluster check-e2e
check: $(OUT)/unit-tests all $(fuzz_programs) $(OUT)/flexlocal-dynamic $(OUT)/copy-call $(node_calls) $(killers) $(BUILD)/image.tar $(BUILD)/setup-lab $(BUILD)/setup-lint  ## run all tiers of tests
	scripts/check $(OUT) lint unit valgrind fuzz node cluster e2e
check-unit: $(OUT)/unit-tests  ## pure decisions, parsers, state machines: milliseconds
	scripts/check $(OUT) unit
check-node: $(OUT)/flexlocal $(node_calls) $(killers) $(BUILD)/setup-lab  ## the plugin on a real kernel with LVM and XFS
	scripts/check $(OUT) node
check-cluster: $(OUT)/flexlocal $(OUT)/flexlocal-provisioner $(OUT)/copy-call $(BUILD)/setup-lab  ## the daemon on a real control plane
	scripts/check $(OUT) cluster
check-e2e: $(BUILD)/image.tar $(BUILD)/setup-lab  ## everything on a real kubelet
	scripts/check $(OUT) e2e

.PHONY: check-hosts
check-hosts: $(OUT)/flexlocal $(node_calls) $(killers) $(BUILD)/setup-lab  ## tier node with the LVM, XFS tools and kernels of Debian 12 and 13
	@for suite in bookworm trixie; do \
	  echo "# Debian $$suite"; \
	  GUEST_SUITE=$$suite FLEXLOCAL=$(OUT)/flexlocal test/node/run || failed=yes; \
	done; [ -z "$$failed" ]

.PHONY: fuzz check-valgrind
fuzz: $(fuzz_programs)  ## fuzz every parser for FUZZ_SECONDS=20 each
	FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/check $(BUILD) fuzz
check-valgrind: $(OUT)/flexlocal-dynamic $(BUILD)/setup-lab $(BUILD)/setup-fuzz  ## the plugin under valgrind
	scripts/check $(OUT) valgrind
.PHONY: soak
soak: all $(OUT)/engine-call $(OUT)/node-simulator $(killers) $(BUILD)/image.tar $(BUILD)/setup-lab  ## kill at every step and 1,200 times at random, an hour without API server, 1,000 nodes, pods on a real kubelet: three hours
	scripts/check $(OUT) soak
	test/bench/soak $(OUT)
	test/bench/kubelet $(OUT)
	$(MAKE) SANITIZE=address,undefined check-unit

.PHONY: matrix
matrix: all $(OUT)/copy-call $(BUILD)/image.tar $(BUILD)/setup-lab  ## tiers cluster and e2e on Kubernetes 1.37, 1.35 and 1.20
	scripts/matrix $(OUT)

.PHONY: portability
portability: $(BUILD)/setup-lab  ## build and check-unit with g++ and clang++ on Debian 12 and 13, in chroots
	test/portability/run $(BUILD)

.PHONY: conformance
conformance: all $(BUILD)/image.tar $(BUILD)/setup-lab $(BUILD)/setup-conformance  ## Kubernetes' own storage suite, for each backend: hours
	test/conformance/run $(OUT)

.PHONY: bench
bench: all $(OUT)/engine-call $(OUT)/watch-decode $(OUT)/node-simulator $(BUILD)/setup-lab  ## measure; results in build/bench/*.json
	test/bench/run $(OUT)

.PHONY: demo demo-down
demo: $(BUILD)/image.tar $(BUILD)/setup-lab  ## show it on a small real cluster, step by step
	scripts/demo up $(BUILD)
demo-down:  ## stop the demo's cluster
	scripts/demo down $(BUILD)

.PHONY: format lint
format: $(BUILD)/setup-lint  ## lay out the C++ files
	clang-format -i $(sources) $(unit) $(fuzz) $(headers) $(wildcard test/node/*.cc test/node/*.h test/bench/*.cc test/bench/*.h test/cluster/*.cc)
lint: $(BUILD)/setup-lint $(BUILD)/setup-lab all  ## layout, arrows, clang-tidy, shellcheck, manifests
	scripts/lint $(BUILD)

# A running demo keeps its files there.
.PHONY: clean
clean:  ## remove what was built
	@[ ! -e $(BUILD)/demo ] || scripts/demo down $(BUILD)
	rm -rf $(BUILD)

.PHONY: help
help:
	@sed -n 's/^\([a-z][a-z0-9 -]*\):.*  ## \(.*\)/  make \1|\2/p' Makefile | column -t -s '|'
