# flexlocal: everything is built, tested and shown from here. `make help` lists the targets.

BUILD ?= build
PREFIX ?= /usr
DESTDIR ?=
# The version, from git where there is one: programs print it and the image is tagged with it.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

CXX := g++
CPPFLAGS += -I. -DBOOST_ASIO_NO_DEPRECATED
CXXFLAGS ?= -O2 -g
CXXFLAGS += -std=c++20 -pthread -fno-strict-aliasing -Wall -Wextra -Wpedantic -Wshadow \
  -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Werror
LDFLAGS += -pthread

# make SANITIZE=address,undefined check-unit: objects of their own, so that they never mix.
ifdef SANITIZE
OUT := $(BUILD)/sanitize
CXXFLAGS += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
LDFLAGS += -fsanitize=$(SANITIZE)
else
OUT := $(BUILD)
endif

base := $(wildcard flexvolume/base/*.cc)
engine := $(wildcard flexvolume/engine/*.cc)
plugin := $(filter-out flexvolume/main.cc,$(wildcard flexvolume/*.cc))
kube := $(wildcard provisioner/kube/*.cc)
provisioner := $(filter-out provisioner/main.cc,$(wildcard provisioner/*.cc))
unit := $(wildcard test/unit/*.cc test/unit/*/*.cc)

objects = $(patsubst %.cc,$(OUT)/%.o,$(1))
scripts := scripts/setup scripts/image scripts/check scripts/demo \
  $(filter-out %.md %.yaml %.py,$(wildcard test/lab/* test/bench/*.bash test/node/*.bash test/e2e/*.bash))

.PHONY: all
all: $(OUT)/flexlocal $(OUT)/flexlocal-provisioner

$(OUT)/%.o: %.cc
	@mkdir -p $(@D)
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) -MMD -MP -c $< -o $@

# The one file that knows the version is made again when the version changes.
$(OUT)/generated/flexlocal_version.h: FORCE
	@mkdir -p $(@D)
	@echo '#define FLEXLOCAL_VERSION "$(VERSION)"' | cmp -s - $@ || \
	  echo '#define FLEXLOCAL_VERSION "$(VERSION)"' > $@
$(OUT)/flexvolume/base/version.o: $(OUT)/generated/flexlocal_version.h
$(OUT)/flexvolume/base/version.o: CPPFLAGS += -I$(OUT)/generated
.PHONY: FORCE
FORCE:

# The plugin is static: kube-controller-manager may start it too, on a host or in a container
# that has none of our libraries. Sanitizers have no static run-time, so they get a dynamic one.
$(OUT)/flexlocal: $(call objects,flexvolume/main.cc $(plugin) $(engine) $(base))
	$(CXX) $(LDFLAGS) $(if $(SANITIZE),,-static -Wl,--gc-sections) $^ -o $@ -lboost_program_options

$(OUT)/flexlocal-provisioner: $(call objects,provisioner/main.cc $(provisioner) $(kube) $(engine) $(base))
	$(CXX) $(LDFLAGS) $^ -o $@ -l:libboost_program_options.a -lcurl -lyaml-cpp -lcrypto

$(OUT)/unit-tests: $(call objects,$(unit) $(provisioner) $(kube) $(plugin) $(engine) $(base))
	$(CXX) $(LDFLAGS) $^ -o $@ -lboost_program_options -lcurl -lyaml-cpp -lcrypto

-include $(shell find $(OUT) -name '*.d' 2>/dev/null)

.PHONY: clean
clean:
	rm -rf $(BUILD)
