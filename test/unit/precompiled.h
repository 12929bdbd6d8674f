// The same for the unit tests. main.cc does without: it makes doctest's own code of its header.
#include <doctest/doctest.h>

#include "provisioner/precompiled.h"
