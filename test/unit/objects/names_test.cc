#include "provisioner/objects/names.h"

#include <doctest/doctest.h>

#include <string>

namespace flexlocal::provisioner::test {

TEST_CASE("what cannot be a Node's name is not asked for") {
  for (const char* name : {"node-a", "a", "10.0.0.1", "a.b-c"}) CHECK(is_dns_subdomain(name));
  for (const char* name : {"", ".", "..", "-a", "a-", "A", "a/b", "a b", "a\n", "\xc3\xa4"})
    CHECK_FALSE(is_dns_subdomain(name));
  CHECK_FALSE(is_dns_subdomain(std::string(254, 'a')));
}

}  // namespace flexlocal::provisioner::test
