#include "provisioner/kube/packed.h"

#include <doctest/doctest.h>

#include <array>

#include "flexvolume/base/text.h"
#include "provisioner/kube/keeping.h"

namespace flexlocal::kube::test {
namespace {

const std::string kUid = "0123abcd-ef01-2345-6789-0fedcba98765";

// A packable type, as objects are.
struct Thing {
  std::string name;
  std::string phase;
  std::vector<std::string> modes;

  template <typename Object, typename Pack>
  static void each_member(Object& thing, Pack& pack) {
    auto& [name, phase, modes] = thing;
    pack.text(name), pack.symbol(phase), pack.symbols(modes);
  }
  void pack(Packer& packer) const { each_member(*this, packer); }
  static Thing unpack(Unpacker& unpacker) {
    Thing thing;
    each_member(thing, unpacker);
    return thing;
  }
};

std::string after(Symbols& symbols, std::string_view text) {
  Packer packer(symbols);
  packer.text(text);
  packer.text("the next");
  const Packed packed = packer.take();
  Unpacker unpacker(packed);
  std::string read = "what was there";
  std::string next;
  unpacker.text(read);
  unpacker.text(next);
  CHECK(next == "the next");
  return read;
}

}  // namespace

TEST_CASE("any text is read as it was written, with a uid in it or without") {
  Symbols symbols;
  std::string upper = kUid;
  upper[4] = 'A';
  std::string wrong = kUid;
  wrong[8] = '0';
  const std::string all(300, '\xff');
  for (const std::string& text :
       {std::string(), std::string("x"), kUid, concat("pvc-", kUid), concat("pvc-", kUid, "-0123"),
        concat(kUid, "x"), concat("a-b-", kUid), concat("toolong-", kUid), concat("-", kUid),
        concat(kUid, kUid), upper, wrong, kUid.substr(0, 35), std::string("pvc-"),
        std::string("\0-\0", 3), all, concat(all, '-', kUid)})
    CHECK(after(symbols, text) == text);
}

TEST_CASE("a text that an object has twice is read as often, one behind many others as well") {
  Symbols symbols;
  std::vector<std::string> texts;
  for (int i = 0; i < 40; ++i) texts.push_back(i % 3 == 0 ? concat("pvc-", kUid) : concat(i));
  texts.insert(texts.end(), {"", "1", "39", "", concat("pvc-", kUid)});
  Packer packer(symbols);
  for (const std::string& text : texts) packer.text(text);
  CHECK(packer.size() < 150);
  const Packed packed = packer.take();
  Unpacker unpacker(packed);
  for (const std::string& text : texts) {
    std::string read;
    unpacker.text(read);
    CHECK(read == text);
  }
}

TEST_CASE("numbers of every length are read as they were written") {
  Symbols symbols;
  constexpr std::array<std::uint64_t, 8> kNumbers = {0,     1,     127,         128,
                                                     16383, 16384, 1ULL << 35U, UINT64_MAX};
  Packer packer(symbols);
  for (const std::uint64_t number : kNumbers) packer.number(number);
  packer.integer(std::int64_t{-5});
  packer.integer(true);
  const Packed packed = packer.take();
  Unpacker unpacker(packed);
  for (const std::uint64_t number : kNumbers) CHECK(unpacker.number() == number);
  std::int64_t negative = 0;
  bool truth = false;
  unpacker.integer(negative);
  unpacker.integer(truth);
  CHECK(negative == -5);
  CHECK(truth);
}

TEST_CASE("a text that several have is kept once, until the last of them is gone") {
  Symbols symbols;
  const auto pack = [&](const std::string& phase) {
    Packer packer(symbols);
    Thing{"name", phase, {"one", "two"}}.pack(packer);
    return packer.take();
  };
  {
    const Packed first = pack("Bound");
    {
      const Packed second = pack("Bound");
      CHECK(symbols.size() == 3);
      Packed third = pack("Released");
      CHECK(symbols.size() == 4);
      third = pack("Failed");
      const Packed moved = std::move(third);
      Unpacker unpacker(moved);
      const Thing thing = Thing::unpack(unpacker);
      CHECK(thing.phase == "Failed");
      CHECK(thing.modes == std::vector<std::string>{"one", "two"});
    }
    CHECK(symbols.size() == 3);
    Unpacker unpacker(first);
    CHECK(Thing::unpack(unpacker).phase == "Bound");
  }
  CHECK(symbols.size() == 0);
}

TEST_CASE("a number that is free again is given to another text") {
  Symbols symbols;
  const Symbols::Id one = symbols.take("one");
  const Symbols::Id two = symbols.take("two");
  CHECK(symbols.take("one") == one);
  symbols.release(one);
  CHECK(symbols.text(one) == "one");
  symbols.release(one);
  const Symbols::Id three = symbols.take("three");
  CHECK(three == one);
  CHECK(symbols.text(three) == "three");
  CHECK(symbols.text(two) == "two");
}

TEST_CASE("what was found of a packed kind stays as it was") {
  Keeping<Thing> keeping;
  Found<Thing> found;
  {
    const Packed kept = keeping.keep({"a", "Bound", {}});
    found = Keeping<Thing>::find(kept);
  }
  CHECK(found->phase == "Bound");
}

}  // namespace flexlocal::kube::test
