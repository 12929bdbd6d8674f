#include "provisioner/kube/server_warnings.h"

#include <algorithm>
#include <optional>

#include "flexvolume/base/text.h"

namespace flexlocal::kube {
namespace {

constexpr std::size_t kMostTexts = 16;
constexpr std::size_t kLongestText = 1024;
constexpr std::string_view kName = "warning:";
constexpr std::string_view kCode = "299";

bool is_name(std::string_view text) {
  return std::equal(text.begin(), text.end(), kName.begin(), kName.end(),
                    [](char c, char wanted) { return (c | 0x20) == wanted || c == wanted; });
}

// Goes through a header's value; each call takes what it names off the front, if it is there.
class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) {}

  bool at_end() {
    skip_space();
    return rest_.empty();
  }

  bool take(char c) {
    skip_space();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Empty: there is none.
  std::string_view word() {
    skip_space();
    const std::string_view word = rest_.substr(0, rest_.find_first_of(" \t\","));
    rest_.remove_prefix(word.size());
    return word;
  }

  std::optional<std::string> quoted() {
    if (!take('"')) return std::nullopt;
    std::string text;
    for (std::size_t at = 0; at < rest_.size(); ++at) {
      if (rest_[at] == '"') {
        rest_.remove_prefix(at + 1);
        return text;
      }
      if (rest_[at] == '\\' && ++at == rest_.size()) break;
      text += rest_[at];
    }
    return std::nullopt;
  }

 private:
  void skip_space() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  std::string_view rest_;
};

}  // namespace

std::vector<std::string> parse_warnings(std::string_view value) {
  std::vector<std::string> texts;
  Reader reader(value);
  while (!reader.at_end() && texts.size() < kMostTexts) {
    const std::string_view code = reader.word();
    const std::string_view agent = reader.word();
    const auto text = reader.quoted();
    if (code.empty() || agent.empty() || !text) break;
    if (code == kCode && !trim(*text).empty()) texts.push_back(printable(*text, kLongestText));
    static_cast<void>(reader.quoted());  // a date
    if (!reader.take(',')) break;
  }
  return texts;
}

void ServerWarnings::parse_header(std::string_view line) {
  if (!is_name(line.substr(0, kName.size()))) return;
  for (const std::string& text : parse_warnings(line.substr(kName.size()))) report(text);
}

void ServerWarnings::report(const std::string& text) {
  if (full_ || reported_.contains(text)) return;
  if (reported_.size() >= most_) {
    full_ = true;
    log_.warning("the API server has too many different warnings; further ones are not logged", {});
    return;
  }
  reported_.insert(text);
  log_.warning("the API server warns", {{"text", text}});
}

}  // namespace flexlocal::kube
