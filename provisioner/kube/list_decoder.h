// The answer to a list, taken in as it comes: no tree of all of it is ever built.
#pragma once

#include <string>
#include <string_view>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/json.h"
#include "provisioner/kube/http.h"

namespace flexlocal::kube {

// An error ends the list, and whoever feeds the decoder gets it.
class ListItemSink {
 public:
  virtual ~ListItemSink() = default;
  // The text of one object, brackets balanced; that the rest of it is JSON is not checked yet.
  virtual Status take(std::string_view item) = 0;
};

struct ListLimits {
  std::size_t item = 16U << 20U;    // as a line of a watch
  std::size_t shell = 1U << 20U;    // the answer without its items
  std::size_t whole = 512U << 20U;  // 100,000 objects of 5 kB
};

// Takes the elements of the outermost "items" out of the stream, each when its last byte has come,
// and keeps the rest, the shell: kind, metadata, and an empty "items". kCorrupt on elements that
// are no objects, or not separated as JSON has it; kInvalid on what is over a limit, but kNoSpace
// when that is the limit of the whole, for then fewer objects may do. After an error the decoder is
// of no further use.
class ListDecoder final : public ByteSink {
 public:
  explicit ListDecoder(ListItemSink& items, ListLimits limits = {})
      : items_(items), limits_(limits) {}

  Status take(std::string_view bytes) override;

  // When the answer has ended: the shell. kInvalid when what came was cut off, or is no JSON.
  Result<JsonDocument> finish() const;

 private:
  enum class Place {
    kShell,      // outside of items
    kFirst,      // behind the opening bracket of items: an object or the end
    kNext,       // behind a comma: an object
    kSeparator,  // behind an object: a comma or the end
    kItem        // in an object
  };

  Status shell(char c);
  Status between(char c);
  Result<std::size_t> item(std::string_view bytes);
  bool step(char c);

  ListItemSink& items_;
  ListLimits limits_;
  std::string shell_;
  std::string key_;   // the string that was read last directly in the outermost object
  std::string item_;  // the part of an object that has come
  std::size_t taken_ = 0;
  std::size_t depth_ = 0;  // of brackets: of the shell, or of the item
  Place place_ = Place::kShell;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace flexlocal::kube
