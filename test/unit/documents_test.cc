// What the documents say of one another.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flexlocal {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> documents() {
  std::vector<fs::path> found = {"README.md"};
  for (const char* folder : {"examples", "flexvolume", "provisioner", "test"})
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.path().extension() == ".md") found.push_back(entry.path());
  return found;
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// As GitHub names a heading: small letters, hyphens for spaces, and no other punctuation.
std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_')
      anchor += static_cast<char>(std::tolower(byte));
    if (c == ' ') anchor += '-';
  }
  return anchor;
}

std::set<std::string> anchors_of(const fs::path& path) {
  std::set<std::string> anchors;
  for (const std::string& line : lines_of(path)) {
    const size_t text = line.find_first_not_of('#');
    if (text != 0 && text != std::string::npos && line[text] == ' ')
      anchors.insert(anchor_of(line.substr(text + 1)));
  }
  return anchors;
}

// Where its links lead to, those into the web left out.
std::vector<std::string> links_of(const fs::path& path) {
  std::vector<std::string> links;
  for (const std::string& line : lines_of(path)) {
    for (size_t at = line.find("]("); at != std::string::npos; at = line.find("](", at + 1)) {
      const std::string link = line.substr(at + 2, line.find(')', at) - at - 2);
      if (!link.starts_with("http")) links.push_back(link);
    }
  }
  return links;
}

// Of the table below that heading, without its first two lines.
std::vector<std::string> rows_below(const fs::path& path, const std::string& heading) {
  std::vector<std::string> rows;
  bool inside = false;
  for (const std::string& line : lines_of(path)) {
    if (line.starts_with("## ")) inside = line == "## " + heading;
    if (inside && line.starts_with("| ")) rows.push_back(line);
  }
  if (!rows.empty()) rows.erase(rows.begin());
  return rows;
}

}  // namespace

TEST_CASE("each link of a document leads to a file that is there, and to a heading of it") {
  std::set<fs::path> linked;
  for (const fs::path& document : documents()) {
    for (const std::string& link : links_of(document)) {
      INFO(document.string(), " links to ", link);
      const size_t hash = link.find('#');
      const std::string file = link.substr(0, hash);
      const fs::path target =
          file.empty() ? document : (document.parent_path() / file).lexically_normal();
      REQUIRE(fs::exists(target));
      if (hash != std::string::npos) CHECK(anchors_of(target).contains(link.substr(hash + 1)));
      if (target != document) linked.insert(target);
    }
  }
  for (const fs::path& document : documents()) {
    INFO(document.string(), " is linked from no other document");
    CHECK((document == "README.md" || linked.contains(document)));
  }
}

TEST_CASE("each figure in README is a row of those in test/bench/README.md") {
  const auto shown = rows_below("README.md", "Figures");
  const auto measured = rows_below("test/bench/README.md", "Figures");
  REQUIRE(!shown.empty());
  for (const std::string& row : shown) {
    INFO(row);
    CHECK(std::find(measured.begin(), measured.end(), row) != measured.end());
  }
}

}  // namespace flexlocal
