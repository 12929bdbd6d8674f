// What most files of the plugin include of the standard library, compiled once; see the Makefile.
// Each file includes what it uses all the same: `make PRECOMPILE=` builds without this.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>
