#include "provisioner/kube/api.h"

#include "flexvolume/base/text.h"

namespace flexlocal::kube {
namespace {

constexpr int kConflictStatus = 409;

ErrorCode code_of(int http_status, std::string_view reason) {
  switch (http_status) {
    case 401:
    case 403:
      return ErrorCode::kDenied;
    case 404:
      return ErrorCode::kNotFound;
    case kConflictStatus:
      return reason == "AlreadyExists" ? ErrorCode::kExists : ErrorCode::kConflict;
    case 410:
      return ErrorCode::kGone;
    case 429:
      return ErrorCode::kUnavailable;
    default:
      break;
  }
  if (http_status >= 500) return ErrorCode::kUnavailable;
  if (http_status >= 400) return ErrorCode::kInvalid;
  return ErrorCode::kFailed;  // a redirect, or no status at all
}

// Source: k8s.io/apiserver/pkg/storage/errors.go (NewTooLargeResourceVersionError)
bool never_had_version(JsonView status) {
  const JsonView causes = status["details"]["causes"];
  for (std::size_t i = 0; i < causes.size(); ++i)
    if (causes.at(i)["reason"].text() == "ResourceVersionTooLarge") return true;
  return false;
}

std::string in_words(int http_status, std::string_view reason, std::string_view message) {
  std::string text = concat("HTTP ", http_status);
  if (!reason.empty()) text += concat(' ', printable(reason, 64));
  if (!message.empty()) text += concat(": ", printable(message, 1024));
  return text;
}

Error make_error(int http_status, JsonView status) {
  const std::string_view reason = status["reason"].text();
  const ErrorCode code =
      never_had_version(status) ? ErrorCode::kGone : code_of(http_status, reason);
  return Error(code, in_words(http_status, reason, status["message"].text()));
}

std::string with_query(const std::string& path, const Query& query) {
  return query.text().empty() ? path : concat(path, '?', query.text());
}

std::string what_of(const HttpRequest& request) {
  return concat(to_string(request.method), ' ', request.target);
}

HttpRequest request_of(Method method, const std::string& path, const std::string& body) {
  HttpRequest request;
  request.method = method;
  request.target = path;
  request.body = body;
  return request;
}

std::string delete_options(const Preconditions& preconditions) {
  JsonWriter json;
  json.begin_object().member("kind", "DeleteOptions").member("apiVersion", "v1");
  json.key("preconditions").begin_object();
  if (!preconditions.uid.empty()) json.member("uid", preconditions.uid);
  if (!preconditions.resource_version.empty())
    json.member("resourceVersion", preconditions.resource_version);
  json.end_object().end_object();
  return json.take();
}

}  // namespace

Error error_of_answer(int http_status, std::string_view body) {
  const auto parsed = JsonDocument::parse(body);
  if (!parsed || parsed->root()["kind"].text() != "Status")
    return Error(code_of(http_status, {}), in_words(http_status, {}, printable(trim(body))));
  return make_error(http_status, parsed->root());
}

Error error_of_status(JsonView status) {
  return make_error(static_cast<int>(status["code"].integer().value_or(0)), status);
}

Task<Result<JsonDocument>> ApiClient::get(const std::string& path) {
  HttpRequest request;
  request.target = path;
  co_return co_await call(request);
}

Task<Result<JsonDocument>> ApiClient::list(const std::string& path, const Query& query) {
  HttpRequest request;
  request.target = with_query(path, query);
  co_return co_await call(request);
}

Task<Status> ApiClient::read_list(const std::string& path, const Query& query, ByteSink& sink) {
  HttpRequest request;
  request.target = with_query(path, query);
  const auto response = co_await exchange(request, &sink);
  co_return response ? Status() : Status(response.error());
}

Task<Result<JsonDocument>> ApiClient::create(const std::string& path, const std::string& body) {
  const HttpRequest request = request_of(Method::kPost, path, body);
  co_return co_await call(request);
}

Task<Status> ApiClient::post(const std::string& path, const std::string& body) {
  const HttpRequest request = request_of(Method::kPost, path, body);
  const auto response = co_await exchange(request, nullptr);
  co_return response ? Status() : Status(response.error());
}

Task<Result<JsonDocument>> ApiClient::replace(const std::string& path, const std::string& body) {
  const HttpRequest request = request_of(Method::kPut, path, body);
  co_return co_await call(request);
}

Task<Result<JsonDocument>> ApiClient::merge_patch(const std::string& path,
                                                  const std::string& body) {
  HttpRequest request = request_of(Method::kPatch, path, body);
  request.content_type = "application/merge-patch+json";
  co_return co_await call(request);
}

Task<Result<JsonDocument>> ApiClient::delete_object(const std::string& path,
                                                    const Preconditions& preconditions) {
  const HttpRequest request = request_of(Method::kDelete, path, delete_options(preconditions));
  co_return co_await call(request);
}

Task<Status> ApiClient::watch(const std::string& path, const Query& query, WatchLimits limits,
                              ByteSink& sink) {
  if (auto turn = co_await wait_for_turn(); !turn) co_return turn;
  HttpRequest request;
  request.target = with_query(path, query);
  request.deadline = limits.deadline;
  request.stall = limits.stall;
  request.trickles = true;
  const auto response = co_await http_.stream(request, sink);
  stats_.count(request.method, response ? response->status : RequestStats::kNoAnswer);
  if (!response) co_return response.error();
  heed(*response);
  if (!response->success()) co_return error_of_answer(response->status, response->body);
  co_return Status();
}

Task<Result<JsonDocument>> ApiClient::call(const HttpRequest& request) {
  auto response = co_await exchange(request, nullptr);
  if (!response) co_return response.error();
  auto parsed = JsonDocument::parse(response->body);
  // The transport was in order, so this is not the API server that answers.
  if (!parsed)
    co_return Error(ErrorCode::kCorrupt, parsed.error().message()).context(what_of(request));
  co_return std::move(*parsed);
}

Task<Result<HttpResponse>> ApiClient::exchange(const HttpRequest& request, ByteSink* sink) {
  if (auto turn = co_await wait_for_turn(); !turn) co_return turn.error();
  HttpRequest timed = request;
  timed.deadline = options_.deadline;
  const auto sent = clock_.now();
  auto answer = sink == nullptr ? http_.send(timed) : http_.stream(timed, *sink);
  auto response = co_await std::move(answer);
  stats_.took(timed.method, clock_.now() - sent);
  stats_.count(timed.method, response ? response->status : RequestStats::kNoAnswer);
  if (!response) co_return response.error().context(what_of(request));
  heed(*response);
  if (!response->success())
    co_return error_of_answer(response->status, response->body).context(what_of(request));
  co_return std::move(*response);
}

Task<Status> ApiClient::wait_for_turn() {
  const auto began = clock_.now();
  const auto wait = bucket_.take(began, options_.deadline);
  if (!wait) co_return Error(ErrorCode::kUnavailable, "more requests than --kube-api-qps allows");
  const auto turn = began + *wait;
  for (;;) {
    const auto now = clock_.now();
    const auto until = std::max(turn, not_before_);
    if (until <= now) co_return Status();
    if (until - began > options_.deadline)
      co_return Error(ErrorCode::kUnavailable, "the API server asked for a pause");
    if (auto slept = co_await sleep_for(until - now); !slept) co_return slept;
  }
}

Task<Status> ApiClient::end_of_pause() {
  while (told_to_wait())
    if (auto slept = co_await sleep_for(not_before_ - clock_.now()); !slept) co_return slept;
  co_return Status();
}

void ApiClient::heed(const HttpResponse& response) {
  if (options_.only_without_flows && response.has_flow) bucket_.lift();
  if (!response.retry_after || (response.status != 429 && response.status != 503)) return;
  const std::chrono::nanoseconds asked = *response.retry_after;
  const std::chrono::nanoseconds most = options_.longest_pause;
  // All clients of a server that has just come back are told to wait equally long.
  not_before_ = std::max(not_before_, clock_.now() + random_.jittered(std::min(asked, most)));
}

}  // namespace flexlocal::kube
