#include "provisioner/objects/grant_secret.h"

#include "flexvolume/base/text.h"
#include "provisioner/kube/base64.h"

namespace flexlocal::provisioner {

GrantSecret decode_grant_secret(JsonView object) {
  const JsonView meta = object["metadata"];
  const JsonView annotations = meta["annotations"];
  GrantSecret secret;
  secret.uid = meta["uid"].text();
  secret.resource_version = meta["resourceVersion"].text();
  secret.rotation_asked = annotations[kRotateAnnotation].text();
  secret.rotation_done = annotations[kRotatedAnnotation].text();
  const auto encoded = object["data"][kGrantSecretKey].string();
  if (!encoded) return secret;
  auto decoded = kube::decode_base64(*encoded);
  // What the API server has is base64; if it is not, it is no key either.
  secret.keys = decoded ? std::move(*decoded) : std::string();
  return secret;
}

std::string grant_secret_json(const std::string& namespace_name, const std::string& key) {
  JsonWriter json;
  json.begin_object().member("apiVersion", "v1").member("kind", "Secret");
  json.key("metadata").begin_object().member("name", kGrantSecretName);
  json.member("namespace", namespace_name).end_object();
  json.member("type", "Opaque").key("data").begin_object();
  json.member(kGrantSecretKey, kube::encode_base64(key + '\n')).end_object().end_object();
  return json.take();
}

std::string rotation_patch(const GrantSecret& secret, const std::string& key) {
  const std::string text = concat(key, '\n', secret.keys.value_or(std::string()));
  JsonWriter json;
  json.begin_object().key("metadata").begin_object();
  json.member("resourceVersion", secret.resource_version).key("annotations").begin_object();
  json.member(kRotatedAnnotation, secret.rotation_asked).end_object().end_object();
  json.key("data").begin_object().member(kGrantSecretKey, kube::encode_base64(text));
  json.end_object().end_object();
  return json.take();
}

}  // namespace flexlocal::provisioner
