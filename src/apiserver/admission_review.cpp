// apiserver/admission_review.cpp - admission.k8s.io, v1 and v1beta1, in the words of
// kube-apiserver.
#include "apiserver/admission_review.h"

#include <utility>

#include "api/json.h"
#include "api/type_words.h"
#include "base/text.h"

namespace muster::apiserver {
namespace {

using api::Value;

constexpr int least_refusal = 400;

void set_text(Value& object, const char* field, const std::string& text) {
    if (!text.empty()) object.set(field, text);
}

Value kind_of(const VersionedResource& resource) {
    return Value::object({{"group", resource.kind_group},
                          {"version", resource.kind_version},
                          {"kind", resource.kind}});
}

Value resource_of(const VersionedResource& resource) {
    return Value::object(
        {{"group", resource.group}, {"version", resource.version}, {"resource", resource.plural}});
}

Value user_info(const User& user) {
    Value info = Value::object();
    set_text(info, "username", user.name);
    set_text(info, "uid", user.uid);
    if (!user.groups.empty()) {
        Value& groups = info.at("groups");
        for (const std::string& group : user.groups)
            groups.push(group);
    }
    for (const auto& [key, values] : user.extra) {
        Value& list = info.at("extra").at(key);
        list = Value::array();
        for (const std::string& value : values)
            list.push(value);
    }
    return info;
}

std::string version_and_kind(const Value& review) {
    const std::string version = review["apiVersion"].text();
    return (version.empty() ? "/" : version) + ", Kind=" + review["kind"].text();
}

/// Fields that are there must be of their types: as a client in Go would read them.
std::string type_fault(const Value& response) {
    const auto check = [&](const char* field, const char* wanted, bool good) {
        if (response[field].is_null() || good) return std::string();
        return "json: cannot unmarshal " + std::string(api::json_type(response[field])) +
               " into Go struct field AdmissionResponse.response." + field + " of type " + wanted;
    };
    for (const std::string& fault :
         {check("uid", "types.UID", response["uid"].is_string()),
          check("allowed", "bool", response["allowed"].is_boolean()),
          check("status", "v1.Status", response["status"].is_object()),
          check("patch", "[]uint8", response["patch"].is_string()),
          check("patchType", "v1.PatchType", response["patchType"].is_string()),
          check("auditAnnotations", "map[string]string", response["auditAnnotations"].is_object()),
          check("warnings", "[]string", response["warnings"].is_array())}) {
        if (!fault.empty()) return fault;
    }
    return "";
}

/// What patch and patchType say together in v1, or nothing.
std::string patch_type_fault(const Value& response, Phase phase) {
    const bool patch = !response["patch"].text_or("").empty();
    const bool typed = !response["patchType"].is_null();
    if (phase == Phase::validating) {
        if (patch) return "validating webhook may not return response.patch";
        return typed ? "validating webhook may not return response.patchType" : "";
    }
    if (patch && !typed) return "webhook returned response.patch but not response.patchType";
    if (!patch && typed) return "webhook returned response.patchType but not response.patch";
    if (typed && response["patchType"].text_or("").empty())
        return "webhook returned invalid response.patchType of \"\"";
    return "";
}

void read_patch(const Value& response, const std::string& version, Verdict& verdict) {
    const std::string_view encoded = response["patch"].text_or("");
    if (encoded.empty()) return;
    const auto text = from_base64(encoded);
    auto parsed = api::parse_json(text.value_or(""));
    if (const auto* problem = std::get_if<api::ParseError>(&parsed)) {
        verdict.patch_fault = "received undecodable patch in webhook response: " + problem->text;
        return;
    }
    verdict.patch = std::move(std::get<api::Parsed>(parsed).value);
    const std::string type =
        version == "v1" ? response["patchType"].text() : std::string("JSONPatch");
    if (!verdict.patch.is_null() && !verdict.patch.is_array()) {
        verdict.patch_fault =
            "received undecodable patch in webhook response: json: cannot unmarshal " +
            std::string(verdict.patch.is_object() ? "object" : "value") +
            " into Go value of type jsonpatch.Patch";
    } else if (!verdict.patch.empty() && type != "JSONPatch") {
        verdict.patch_fault = "unsupported patch type " + quoted(type);
    }
}

}  // namespace

Value review_request(const ReviewRequest& request, const User& user) {
    Value made = Value::object();
    set_text(made, "uid", request.uid);
    made.set("kind", kind_of(request.as));
    made.set("resource", resource_of(request.as));
    set_text(made, "subResource", request.subresource);
    made.set("requestKind", kind_of(request.resource));
    made.set("requestResource", resource_of(request.resource));
    set_text(made, "requestSubResource", request.subresource);
    set_text(made, "name", request.name);
    set_text(made, "namespace", request.ns);
    made.set("operation", request.operation);
    made.set("userInfo", user_info(user));
    made.set("dryRun", request.dry_run);
    made.set("options", request.options);
    return made;
}

std::optional<std::string> review_version(const Value& versions) {
    for (const Value& version : versions.items()) {
        const std::string_view text = version.text_or("");
        if (text == "v1" || text == "v1beta1") return std::string(text);
    }
    return std::nullopt;
}

Value admission_review(const std::string& version, Value request, Value object, Value old_object) {
    request.set("object", std::move(object));
    request.set("oldObject", std::move(old_object));
    return Value::object({{"kind", "AdmissionReview"},
                          {"apiVersion", "admission.k8s.io/" + version},
                          {"request", std::move(request)}});
}

std::variant<Verdict, std::string> read_verdict(const Value& review, const std::string& version,
                                                Phase phase, const std::string& uid) {
    const Value& response = review["response"];
    const std::string invalid = "received invalid webhook response: ";
    if (!response.is_null() && !response.is_object())
        return "failed to call webhook: response is not an object";
    if (const std::string fault = type_fault(response); !fault.empty())
        return "failed to call webhook: " + fault;
    if (!response["patch"].is_null() && !from_base64(response["patch"].text_or("")))
        return std::string("failed to call webhook: illegal base64 data in response.patch");
    if (response.is_null()) return invalid + "webhook response was absent";
    if (version == "v1") {
        if (response["uid"].text_or("") != uid) {
            return invalid + "expected response.uid=" + quoted(uid) + ", got " +
                   quoted(response["uid"].text_or(""));
        }
        constexpr const char* wanted = "admission.k8s.io/v1, Kind=AdmissionReview";
        if (const std::string got = version_and_kind(review); got != wanted)
            return invalid + "expected webhook response of " + wanted + ", got " + got;
        if (const std::string fault = patch_type_fault(response, phase); !fault.empty())
            return invalid + fault;
    }
    Verdict verdict;
    verdict.allowed = response["allowed"].boolean_or(false);
    verdict.result = response["status"];
    for (const Value& warning : response["warnings"].items())
        verdict.warnings.push_back(warning.text());
    if (phase == Phase::mutating && verdict.allowed) read_patch(response, version, verdict);
    return verdict;
}

Value refusal_of(const std::string& webhook, const Value& result) {
    const std::string denied = "admission webhook " + quoted(webhook) + " denied the request";
    const std::string message = result["message"].text();
    const std::string reason = result["reason"].text();
    const std::string status = result["status"].text();
    Value made =
        Value::object({{"kind", "Status"},
                       {"apiVersion", "v1"},
                       {"metadata", Value::object()},
                       {"status", status.empty() || status == "Success" ? "Failure" : status}});
    made.set("message", !message.empty()  ? denied + ": " + message
                        : !reason.empty() ? denied + ": " + reason
                                          : denied + " without explanation");
    set_text(made, "reason", reason);
    if (result["details"].is_object()) made.set("details", result["details"]);
    const std::int64_t code = result["code"].integer_or(0);
    made.set("code", code < least_refusal ? std::int64_t{least_refusal} : code);
    return made;
}

}  // namespace muster::apiserver
