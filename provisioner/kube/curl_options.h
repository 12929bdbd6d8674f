// How requests go by libcurl.
#pragma once

#include <chrono>
#include <string>

#include "flexvolume/base/bytes.h"
#include "provisioner/kube/exec_credentials.h"

namespace flexlocal::kube {

struct CurlHttpOptions {
  std::string user_agent;  // empty: "flexlocal-provisioner/<version>"
  // Longest answer that send() keeps, and most of a streamed one that waits to be taken, after
  // decompression; more: kNoSpace, and lists are read in smaller pages. With its tree it takes
  // twice that in memory.
  Bytes largest_body{16 * kMiB.count()};
  // To a connection that can be used, TLS included.
  std::chrono::milliseconds connect_deadline = std::chrono::seconds(10);
  // A peer that acknowledges nothing for about this long is given up on, streams included: TCP
  // keepalive probes, and TCP_USER_TIMEOUT for what has been sent.
  std::chrono::seconds dead_peer = std::chrono::seconds(30);
  // Most of the cost of a small piece of a stream that trickles is that of waking up for it. So a
  // connection is read once in so long, and what comes meanwhile is read together; but for the
  // first few after a pause, see SocketWatch::rest(). Zero: all is read at once. A leader waited
  // 10 ms for each step of a claim at 20 ms, and spent no less.
  std::chrono::milliseconds gather = std::chrono::milliseconds(4);
  // Credential files are looked at again no more often than this.
  std::chrono::milliseconds reload_interval = std::chrono::seconds(1);
  // Of the configuration's credential program, if it names one.
  ExecOptions exec;
};

}  // namespace flexlocal::kube
