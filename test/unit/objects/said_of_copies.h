// What a node can have said of a copy, for the tests that go through all of it.
#pragma once

#include <array>

#include "provisioner/objects/copy_status.h"

namespace flexlocal::provisioner::test {

// Where it is, whether it was promised, and made.
struct Said {
  CopyState state;
  bool promised;
  bool made;
};

inline constexpr std::array<Said, 14> kSaid = {{{CopyState::kUnsaid, false, false},
                                                {CopyState::kPromised, true, false},
                                                {CopyState::kPromised, true, true},
                                                {CopyState::kReady, true, true},
                                                {CopyState::kRetained, true, false},
                                                {CopyState::kRetained, true, true},
                                                {CopyState::kRemoving, false, false},
                                                {CopyState::kRemoving, true, true},
                                                {CopyState::kRemoved, false, false},
                                                {CopyState::kRemoved, true, true},
                                                {CopyState::kRefused, false, false},
                                                {CopyState::kRefused, true, false},
                                                {CopyState::kLost, true, false},
                                                {CopyState::kLost, true, true}}};

// By a node of another version.
inline constexpr Said kSaidUnknown{CopyState::kUnknown, true, true};

}  // namespace flexlocal::provisioner::test
