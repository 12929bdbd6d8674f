#include "provisioner/kube/packed.h"

#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace flexlocal::kube {
namespace {

using Count = std::uint32_t;

// RFC 4122, as Kubernetes writes uids: 8-4-4-4-12 digits.
constexpr std::size_t kUidText = 36;
constexpr std::size_t kUidBytes = 16;
constexpr std::string_view kDigits = "0123456789abcdef";

bool is_hyphen_place(std::size_t place) {
  return place == 8 || place == 13 || place == 18 || place == 23;
}

// nullopt: the text does not begin with a uid that can be written again just so.
std::optional<std::array<char, kUidBytes>> uid_at_begin(std::string_view text) {
  if (text.size() < kUidText) return std::nullopt;
  std::array<char, kUidBytes> bytes{};
  std::size_t digits = 0;
  for (std::size_t i = 0; i < kUidText; ++i) {
    if (is_hyphen_place(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const std::size_t value = kDigits.find(text[i]);
    if (value == std::string_view::npos) return std::nullopt;
    bytes[digits / 2] = static_cast<char>((static_cast<unsigned char>(bytes[digits / 2]) << 4) |
                                          static_cast<unsigned char>(value));
    ++digits;
  }
  return bytes;
}

void append_uid(std::string& text, const char* bytes) {
  for (std::size_t i = 0; i < kUidBytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(bytes[i]);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15U];
  }
}

// Where a uid may begin: at once, or behind a first word such as "pvc".
std::size_t uid_place(std::string_view text) {
  const std::size_t hyphen = text.find('-');
  return hyphen != std::string_view::npos && hyphen < 8 ? hyphen + 1 : 0;
}

}  // namespace

Packed::Packed(Symbols& symbols, const std::vector<Symbols::Id>& ids, std::string_view bytes)
    : symbols_(&symbols) {
  const auto count = static_cast<Count>(ids.size());
  const std::size_t table = ids.size() * sizeof(Symbols::Id);
  block_ = std::make_unique_for_overwrite<char[]>(sizeof(count) + table + bytes.size());
  std::memcpy(block_.get(), &count, sizeof(count));
  if (table != 0) std::memcpy(block_.get() + sizeof(count), ids.data(), table);
  if (!bytes.empty())
    std::memcpy(block_.get() + sizeof(count) + table, bytes.data(), bytes.size());
}

Packed& Packed::operator=(Packed&& other) noexcept {
  std::swap(symbols_, other.symbols_);
  std::swap(block_, other.block_);
  return *this;
}

Symbols::Id Packed::symbol(std::size_t index) const {
  Symbols::Id id = 0;
  std::memcpy(&id, block_.get() + sizeof(Count) + index * sizeof(id), sizeof(id));
  return id;
}

const char* Packed::bytes() const {
  Count count = 0;
  std::memcpy(&count, block_.get(), sizeof(count));
  return block_.get() + sizeof(count) + count * sizeof(Symbols::Id);
}

void Packed::release() {
  if (block_ == nullptr) return;
  Count count = 0;
  std::memcpy(&count, block_.get(), sizeof(count));
  for (std::size_t i = 0; i < count; ++i) symbols_->release(symbol(i));
}

// Seven bits a byte, the lowest first; the eighth says that more follow.
void Packer::number(std::uint64_t number) {
  for (; number > 127; number >>= 7) bytes_ += static_cast<char>((number & 127U) | 128U);
  bytes_ += static_cast<char>(number);
}

// What stands around a uid, its length first; the lowest bit says whether there is one.
void Packer::text(std::string_view text) {
  std::size_t place = uid_place(text);
  auto uid = uid_at_begin(text.substr(place));
  if (!uid && place != 0) uid = uid_at_begin(text.substr(place = 0));
  if (!uid) {
    number(text.size() << 1U);
    bytes_ += text;
    return;
  }
  number((text.size() - kUidText) << 1U | 1U);
  number(place);
  bytes_.append(uid->data(), uid->size());
  bytes_ += text.substr(0, place);
  bytes_ += text.substr(place + kUidText);
}

void Packer::symbols(const std::vector<std::string>& texts) {
  number(texts.size());
  for (const std::string& text : texts) symbol(text);
}

std::uint64_t Unpacker::number() {
  std::uint64_t number = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*next_++);
    number |= std::uint64_t{byte & 127U} << shift;
    if (byte < 128) return number;
  }
}

void Unpacker::text(std::string& text) {
  const std::uint64_t head = number();
  const std::size_t around = head >> 1U;
  if ((head & 1U) == 0) {
    text.assign(next_, around);
    next_ += around;
    return;
  }
  const std::size_t place = number();
  const char* const rest = next_ + kUidBytes;
  text.reserve(around + kUidText);
  text.assign(rest, place);
  append_uid(text, next_);
  text.append(rest + place, around - place);
  next_ = rest + around;
}

void Unpacker::symbols(std::vector<std::string>& texts) {
  texts.resize(number());
  for (std::string& text : texts) symbol(text);
}

}  // namespace flexlocal::kube
