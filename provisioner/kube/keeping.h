// How an ObjectStore keeps its objects: as they are, or packed.
#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include "provisioner/kube/packed.h"

namespace flexlocal::kube {

// A type of which there may be tens of thousands: it is kept packed.
template <typename T>
concept Packable = requires(const T& object, Packer& packer, Unpacker& unpacker) {
  object.pack(packer);
  { T::unpack(unpacker) } -> std::same_as<T>;
};

template <typename T>
class Keeping {
 public:
  using Kept = T;
  // Until the next co_await. nullptr: not there.
  using Found = const T*;

  Kept keep(T object) { return object; }
  static Found find(const Kept& kept) { return &kept; }
};

template <Packable T>
class Keeping<T> {
 public:
  using Kept = Packed;
  // The object as it was when it was asked for, for as long as this is held. nullptr: not there.
  using Found = std::shared_ptr<const T>;

  Kept keep(const T& object) {
    Packer packer(symbols_);
    object.pack(packer);
    return packer.take();
  }
  static Found find(const Kept& kept) {
    Unpacker unpacker(kept);
    return std::make_shared<const T>(T::unpack(unpacker));
  }

 private:
  Symbols symbols_;
};

// What is found of a kind.
template <typename T>
using Found = typename Keeping<T>::Found;

}  // namespace flexlocal::kube
