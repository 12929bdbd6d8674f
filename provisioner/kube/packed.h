// An object in one small block of memory, for stores that keep tens of thousands: texts that many
// have in common are numbers, uids are 16 bytes. A type says once which members it has, by a
// function that calls the same members of Packer and of Unpacker:
//
//   template <typename Object, typename Pack>
//   void each_member(Object& object, Pack& pack) {
//     auto& [name, uid, phase] = object;  // all of them: with another one it does not compile
//     pack.text(name), pack.text(uid), pack.symbol(phase);
//   }
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "provisioner/kube/symbols.h"

namespace flexlocal::kube {

// What a Packer made; gives its symbols back at its end. `symbols` must outlive it.
class Packed {
 public:
  Packed(Symbols& symbols, const std::vector<Symbols::Id>& ids, std::string_view bytes);
  Packed(Packed&& other) noexcept = default;
  Packed& operator=(Packed&& other) noexcept;
  ~Packed() { release(); }

  const Symbols& symbols() const { return *symbols_; }
  Symbols::Id symbol(std::size_t index) const;
  // From behind the symbols to the end, which nothing marks: it is read as it was written.
  const char* bytes() const;

 private:
  void release();

  Symbols* symbols_;
  std::unique_ptr<char[]> block_;  // the count of symbols, the symbols, the bytes
};

// Of the first texts of an object: one that it has had already is kept as which it was.
inline constexpr std::size_t kRemembered = 16;

class Packer {
 public:
  explicit Packer(Symbols& symbols) : symbols_(symbols) {}
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  static constexpr bool kReads = false;

  // One that few other objects have; a uid in it, in lower case, is packed. It must live until all
  // is packed.
  void text(std::string_view text);
  // One that many have.
  void symbol(std::string_view text) { ids_.push_back(symbols_.take(text)); }
  void symbols(const std::vector<std::string>& texts);
  void number(std::uint64_t number);
  template <typename Integer>
  void integer(Integer value) {
    number(static_cast<std::uint64_t>(value));
  }

  // Of what would be kept now, in bytes.
  std::size_t size() const { return ids_.size() * sizeof(Symbols::Id) + bytes_.size(); }
  // Once, at the end.
  Packed take() { return Packed(symbols_, ids_, bytes_); }

 private:
  bool repeats(std::string_view text);

  Symbols& symbols_;
  std::vector<Symbols::Id> ids_;
  std::string bytes_;
  std::array<std::string_view, kRemembered> texts_{};
  std::size_t text_count_ = 0;
};

// Reads what a Packer wrote, by the same calls in the same order.
class Unpacker {
 public:
  explicit Unpacker(const Packed& packed) : packed_(packed), next_(packed.bytes()) {}
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  static constexpr bool kReads = true;

  void text(std::string& text);
  void symbol(std::string& text) { text = packed_.symbols().text(packed_.symbol(symbols_read_++)); }
  void symbols(std::vector<std::string>& texts);
  std::uint64_t number();
  // Also of a bool, and of an enumeration.
  template <typename Integer>
  void integer(Integer& value) {
    value = static_cast<Integer>(number());
  }

 private:
  void read_text(std::string& text);

  const Packed& packed_;
  const char* next_;
  std::size_t symbols_read_ = 0;
  std::array<const char*, kRemembered> texts_{};
  std::size_t text_count_ = 0;
};

}  // namespace flexlocal::kube
