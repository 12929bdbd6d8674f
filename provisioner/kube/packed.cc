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
// What a text's first number says, see Packer::text().
constexpr std::uint64_t kPlain = 0;
constexpr std::uint64_t kWithUid = 1;
constexpr std::uint64_t kRepeated = 2;
constexpr std::uint64_t kKinds = 3;

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
  return hyphen < 8 ? hyphen + 1 : 0;
}

}  // namespace

Packed::Packed(Symbols& symbols, const std::vector<Symbols::Id>& ids, std::string_view bytes)
    : symbols_(&symbols) {
  const auto count = static_cast<Count>(ids.size());
  const std::size_t table = ids.size() * sizeof(Symbols::Id);
  block_ = std::make_unique_for_overwrite<char[]>(sizeof(count) + table + bytes.size());
  std::memcpy(block_.get(), &count, sizeof(count));
  if (table != 0) std::memcpy(block_.get() + sizeof(count), ids.data(), table);
  if (!bytes.empty()) std::memcpy(block_.get() + sizeof(count) + table, bytes.data(), bytes.size());
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

// A number first, whose two lowest bits say how it goes on: what stands around a uid, and how long
// that is; the text as it is, and how long that is; or nothing, and which text it repeats.
void Packer::text(std::string_view text) {
  if (repeats(text)) return;
  std::size_t place = uid_place(text);
  auto uid = uid_at_begin(text.substr(place));
  if (!uid && place != 0) uid = uid_at_begin(text.substr(place = 0));
  if (!uid) {
    number(text.size() << 2U | kPlain);
    bytes_ += text;
    return;
  }
  number((text.size() - kUidText) << 2U | kWithUid);
  number(place);
  bytes_.append(uid->data(), uid->size());
  bytes_ += text.substr(0, place);
  bytes_ += text.substr(place + kUidText);
}

bool Packer::repeats(std::string_view text) {
  for (std::size_t i = 0; i < text_count_; ++i) {
    if (texts_[i] != text) continue;
    number(i << 2U | kRepeated);
    return true;
  }
  if (text_count_ < kRemembered) texts_[text_count_++] = text;
  return false;
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
  const char* const begin = next_;
  const std::uint64_t head = number();
  if ((head & kKinds) == kRepeated) {
    const char* const behind = std::exchange(next_, texts_[head >> 2U]);
    read_text(text);
    next_ = behind;
    return;
  }
  if (text_count_ < kRemembered) texts_[text_count_++] = begin;
  next_ = begin;
  read_text(text);
}

// One that repeats no other.
void Unpacker::read_text(std::string& text) {
  const std::uint64_t head = number();
  const std::size_t around = head >> 2U;
  if ((head & kKinds) == kPlain) {
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
