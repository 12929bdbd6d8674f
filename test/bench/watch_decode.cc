// What taking in a watch costs, against RapidJSON's own trees of the same lines:
//
//   watch-decode ROUNDS
//
// Prints "sample NAME OURS OTHER", nanoseconds for the same bytes, for test/bench/report.bash:
// watch.decode      claims of which one in ten is for this driver, as in a cluster with others
// watch.decode.ours claims that are all for this driver, so that each becomes a tree here, too
// and on stderr the same in MB/s.

#include <rapidjson/document.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "flexvolume/base/text.h"
#include "provisioner/kube/object_store.h"
#include "provisioner/kube/watch_intake.h"
#include "provisioner/objects/objects.h"

namespace flexlocal {
namespace {

using provisioner::Claim;

constexpr int kLines = 2000;

// As a 1.20 API server writes it, managed fields included: about 2 kB.
std::string claim_line(int number, bool ours) {
  const std::string id = concat(number + 10000);
  const std::string by = ours ? "flexlocal.io" : "rancher.io/local-path";
  const std::string managed =
      R"({"manager":"kubectl","operation":"Update","apiVersion":"v1",)"
      R"("time":"2021-03-01T10:00:00Z","fieldsType":"FieldsV1","fieldsV1":)"
      R"({"f:metadata":{"f:annotations":{".":{},)"
      R"("f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:spec":)"
      R"({"f:accessModes":{},"f:resources":{"f:requests":{".":{},"f:storage":)"
      R"({}}},"f:storageClassName":{},"f:volumeMode":{}}}})";
  return concat(
      R"({"type":"MODIFIED","object":{"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":)"
      R"({"name":"data-)",
      id, R"(","namespace":"shop","uid":"11111111-2222-3333-4444-5555555)", id,
      R"(","resourceVersion":")", number + 1,
      R"(","creationTimestamp":"2021-03-01T10:00:00Z","labels":{"app":"store"},"annotations":{)"
      R"("kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"v1\",\"kind\":)"
      R"(\"PersistentVolumeClaim\",\"metadata\":{\"annotations\":{},\"name\":\"data\",\"namespace\":)"
      R"(\"shop\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":)"
      R"({\"storage\":\"1Gi\"}},\"storageClassName\":\"local\"}}\n","pv.kubernetes.io/)"
      R"(bind-completed":"yes","volume.beta.kubernetes.io/storage-provisioner":")",
      by,
      R"(","volume.kubernetes.io/selected-node":"node-a"},"finalizers":[)"
      R"("kubernetes.io/pvc-protection"],"managedFields":[)",
      managed, ',', managed,
      R"(]},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},)"
      R"("volumeName":"pvc-11111111-2222-3333-4444-5555555)",
      id,
      R"(","storageClassName":"local","volumeMode":"Filesystem"},"status":{"phase":"Bound",)"
      R"("accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"}}}})"
      "\n");
}

std::string stream_of(int one_in) {
  std::string out;
  for (int i = 0; i < kLines; ++i) out += claim_line(i, i % one_in == 0);
  return out;
}

double nanoseconds_of(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count();
}

void fail(const char* why) {
  std::fprintf(stderr, "watch-decode: %s\n", why);
  std::exit(1);
}

// In pieces as TLS brings them.
void take_in(const std::string& stream, std::size_t expected) {
  const std::vector<std::function<void(const std::string&)>> nobody;
  kube::ObjectStore<Claim> store(provisioner::decode_claim, nobody);
  const kube::ResourceKind kind{"persistentvolumeclaims", "", "", "", {"\"flexlocal.io\""}};
  const kube::ReflectorOptions options;
  kube::Reflector reflector(kind, options);
  kube::ReflectorStats stats;
  kube::WatchIntake intake(kind, reflector, store, stats);
  kube::WatchDecoder decoder(intake);
  constexpr std::size_t kPiece = 16384;
  for (std::size_t at = 0; at < stream.size(); at += kPiece)
    if (!decoder.take(std::string_view(stream).substr(at, kPiece))) fail("the stream is refused");
  if (store.size() != expected) fail("another number of claims is kept");
}

void make_trees(const std::string& stream) {
  for (const std::string_view line : split(stream, '\n')) {
    if (line.empty()) continue;
    rapidjson::Document document;
    document.Parse(line.data(), line.size());
    if (document.HasParseError()) fail("RapidJSON refuses the stream");
  }
}

void measure(const char* name, int one_in, int rounds) {
  const std::string stream = stream_of(one_in);
  double ours_sum = 0;
  double other_sum = 0;
  for (int round = -2; round < rounds; ++round) {
    const double ours =
        nanoseconds_of([&] { take_in(stream, kLines / static_cast<std::size_t>(one_in)); });
    const double other = nanoseconds_of([&] { make_trees(stream); });
    if (round < 0) continue;  // not counted
    std::printf("sample %s %.0f %.0f\n", name, ours, other);
    ours_sum += ours;
    other_sum += other;
  }
  const double bytes = static_cast<double>(stream.size()) * rounds * 1000;
  std::fprintf(stderr, "%s: %.0f MB/s, RapidJSON's trees %.0f MB/s\n", name, bytes / ours_sum,
               bytes / other_sum);
}

}  // namespace
}  // namespace flexlocal

int main(int count, char** values) {
  const int rounds = count == 2 ? std::atoi(values[1]) : 0;
  if (rounds < 1) flexlocal::fail("usage: watch-decode ROUNDS");
  flexlocal::measure("watch.decode", 10, rounds);
  flexlocal::measure("watch.decode.ours", 1, rounds);
}
