// Of the copies that are ordered of one volume: the one that is to serve, and what its node says.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "provisioner/objects/objects.h"
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner {

// How long a node has time to answer an order.
inline constexpr std::chrono::seconds kOrderTimeout{10};

// The first of them for which `is_wanted(copy)` is true; nullptr: none is.
template <typename IsWanted>
KnownCopy first_of(const std::vector<KnownCopy>& copies, IsWanted is_wanted) {
  const auto found =
      std::ranges::find_if(copies, [&](const KnownCopy& copy) { return is_wanted(*copy); });
  return found == copies.end() ? nullptr : *found;
}

// The one that the PersistentVolume names, also where it is not understood; nullptr: there is none.
KnownCopy copy_of(const Volume& volume, const std::vector<KnownCopy>& copies);

bool is_to_serve(const VolumeCopy& copy);

// It was on a node's disks before it was ordered: it may hold data, and no other has its place.
bool is_found(const VolumeCopy& copy);

// Of several, what a leader before this one left half done: the one that was found, else the one
// that a node promised, and of these the first by name, so that every leader takes the same.
// nullptr: none is to serve.
KnownCopy serving_of(const std::vector<KnownCopy>& copies);

// What its node says is in the way.
std::string reason_of(const VolumeCopy& copy);

// Of a node that has not said within the time-out whether it can have the volume.
std::string words_of_silence(const VolumeCopy& copy);

}  // namespace flexlocal::provisioner
