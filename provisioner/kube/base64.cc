#include "provisioner/kube/base64.h"

#include <sodium.h>

namespace flexlocal::kube {
namespace {

constexpr int kStandard = sodium_base64_VARIANT_ORIGINAL;

}  // namespace

Result<std::string> decode_base64(std::string_view text) {
  std::string out(text.size() / 4 * 3 + 3, '\0');
  std::size_t length = 0;
  // libsodium takes a zero byte for one of those that are stepped over.
  if (text.find('\0') != std::string_view::npos ||
      ::sodium_base642bin(reinterpret_cast<unsigned char*>(out.data()), out.size(), text.data(),
                          text.size(), "\r\n", &length, nullptr, kStandard) != 0)
    return Error(ErrorCode::kInvalid, "not base64");
  out.resize(length);
  return out;
}

std::string encode_base64(std::string_view bytes) {
  std::string out(::sodium_base64_encoded_len(bytes.size(), kStandard), '\0');
  ::sodium_bin2base64(out.data(), out.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                      bytes.size(), kStandard);
  out.pop_back();  // the zero that ends a C string
  return out;
}

}  // namespace flexlocal::kube
