// What the fuzz targets share: a property that does not hold ends the run, and libFuzzer then keeps
// the input that showed it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace flexlocal::fuzz {

inline void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "== property broken: %s\n", property);
  std::abort();
}

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace flexlocal::fuzz

// libFuzzer calls it with one input after another (LLVM's docs/LibFuzzer.rst).
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
