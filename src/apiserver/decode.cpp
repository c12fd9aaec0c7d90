// apiserver/decode.cpp - bodies in, trees out, with every complaint a client may hear about them.
#include "apiserver/decode.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "api/json.h"
#include "api/protobuf.h"
#include "api/rules.h"
#include "api/scale_faults.h"
#include "api/schema.h"
#include "api/type_words.h"
#include "api/typed_value.h"
#include "api/yaml.h"
#include "apiserver/status_error.h"
#include "base/text.h"

namespace muster::apiserver {
namespace {

using api::Value;

constexpr std::size_t shown_body = 200;

Decoded from_parsed(std::variant<api::Parsed, api::ParseError> parsed) {
    if (const auto* problem = std::get_if<api::ParseError>(&parsed)) {
        throw bad_request("the object provided is unrecognized: " + problem->text);
    }
    auto& good = std::get<api::Parsed>(parsed);
    return {std::move(good.value), std::move(good.duplicates)};
}

[[noreturn]] void refuse_media_type() {
    throw StatusError(Reason::unsupported_media_type,
                      "the body of the request was in an unknown format - accepted media types "
                      "include: application/json, application/yaml, "
                      "application/vnd.kubernetes.protobuf");
}

/// kube-apiserver reads compressed bodies as if they were not; in words it is clearer.
void refuse_compressed(const net::Request& request) {
    const std::string_view packing = request.headers.get("Content-Encoding");
    if (packing.empty() || packing == "identity") return;
    throw StatusError(Reason::unsupported_media_type,
                      "the body of the request is compressed (Content-Encoding \"" +
                          std::string(packing) + "\"): send it uncompressed");
}

void check_object(const Value& value, std::string_view body) {
    if (value.is_object()) return;
    throw bad_request("the object provided is unrecognized: it must be a JSON object, not \"" +
                      std::string(body.substr(0, shown_body)) + "\"");
}

/// What says which type an object has is text, or is not there.
void check_type_is_text(const Value& object) {
    for (const char* field : {"apiVersion", "kind"}) {
        const Value& given = object[field];
        if (given.is_string() || given.is_null()) continue;
        throw bad_request("couldn't get version/kind; json parse error: json: cannot unmarshal " +
                          std::string(api::json_type(given)) + " into Go struct field ." + field +
                          " of type string");
    }
}

bool is_apply(const Exchange& exchange) {
    return body_type(exchange.request) == BodyType::apply_patch;
}

/// A patch that makes something else cannot be processed; what is sent so is a bad request.
[[noreturn]] void refuse_type(const Exchange& exchange, const Value& object, const char* field,
                              const std::string& why) {
    if (exchange.route.verb != "patch" || is_apply(exchange)) throw bad_request(why);
    if (!exchange.kind->custom) throw StatusError(Reason::invalid, why, patch_details(why));
    const bool of_kind = std::string_view(field) == "kind";
    const api::Kind& kind = *exchange.kind;
    const std::string wanted =
        of_kind ? kind.kind : api::to_api_version({kind.group, exchange.version->name});
    throw invalid(api::GroupResource{api::parse_group_version(object["apiVersion"].text()).group,
                                     object["kind"].text()},
                  exchange.route.name,
                  {invalid_value(field, object[field].text(), "must be " + wanted)});
}

/// apiVersion and kind must be those of the path. Built-in kinds may leave them out.
void check_type(const Exchange& exchange, Value& object) {
    const api::Kind& kind = *exchange.kind;
    check_type_is_text(object);
    const std::string api_version = api::to_api_version({kind.group, exchange.version->name});
    const std::string given_version = object["apiVersion"].text();
    const std::string given_kind = object["kind"].text();
    if (kind.custom && given_kind.empty()) {
        throw bad_request("Object 'Kind' is missing in '" +
                          api::to_json(object).substr(0, shown_body) + "'");
    }
    const bool may_be_left_out = given_version.empty() && !kind.custom;
    if (!may_be_left_out && given_version != api_version) {
        refuse_type(exchange, object, "apiVersion",
                    "the API version in the data (" + given_version +
                        ") does not match the expected API version (" + api_version + ")");
    }
    if (!given_kind.empty() && given_kind != kind.kind) {
        refuse_type(exchange, object, "kind",
                    given_kind + " in version \"" + exchange.version->name +
                        "\" cannot be handled as a " + kind.kind + ": the kind in the data (" +
                        given_kind + ") does not match the expected kind (" + kind.kind + ")");
    }
    if (given_version.empty()) object.set("apiVersion", api_version);
    if (given_kind.empty()) object.set("kind", kind.kind);
}

std::string cannot_handle(const Exchange& exchange) {
    return exchange.kind->kind + " in version \"" + exchange.version->name +
           "\" cannot be handled as a " + exchange.kind->kind + ": ";
}

/// Answers unknown and duplicate fields as the client wants: refuse, warn or drop.
void check_strictly(Exchange& exchange, const api::Schema& schema, const Value& object,
                    const std::vector<std::string>& duplicates, const std::string& prefix) {
    const std::string_view mode = exchange.request.query_value("fieldValidation");
    if (mode == "Ignore") return;
    std::vector<std::string> unknown = api::unknown_fields(schema, object);
    std::vector<std::string> complaints;
    const auto complain = [&complaints](const char* of, const std::vector<std::string>& fields) {
        for (const std::string& field : fields)
            complaints.push_back(std::string(of) + " field \"" + field + "\"");
    };
    // What is said of custom kinds comes from the text first, then from the schema, in order.
    const bool custom = exchange.kind != nullptr && exchange.kind->custom;
    if (custom) {
        complain("duplicate", duplicates);
        const auto of_schema = std::stable_partition(
            unknown.begin(), unknown.end(),
            [](const std::string& field) { return field.starts_with("metadata."); });
        std::sort(of_schema, unknown.end());
    }
    complain("unknown", unknown);
    if (!custom) complain("duplicate", duplicates);
    if (complaints.empty()) return;
    if (mode == "Strict") {
        const std::string text = "strict decoding error: " + join(complaints, ", ");
        if (exchange.route.verb == "patch" && !is_apply(exchange)) {
            throw StatusError(Reason::invalid, " \"\" is invalid: patch: " + text,
                              patch_details("Invalid value: " + text));
        }
        throw bad_request(prefix + text);
    }
    for (std::string& complaint : complaints)
        exchange.warnings.push_back(std::move(complaint));
}

/// What cannot be decoded: the sender's fault, or that of a patch that makes it.
[[noreturn]] void refuse_unreadable(const Exchange& exchange, const api::FieldError& error) {
    const std::string text = error.field + ": " + error.text;
    if (exchange.route.verb == "patch" && !is_apply(exchange)) {
        throw StatusError(Reason::invalid, " \"\" is invalid: patch: " + text, patch_details(text));
    }
    throw bad_request(cannot_handle(exchange) + text);
}

/// The metadata of all kinds is typed.
void check_metadata_types(const Exchange& exchange, const std::vector<api::FieldError>& wrong) {
    for (const api::FieldError& error : wrong) {
        if (error.reason == "FieldValueTypeInvalid" && error.field.starts_with("metadata."))
            refuse_unreadable(exchange, error);
    }
}

/// Go's decoders find what is no base64 and no time; here the schema does.
bool is_unreadable(const api::FieldError& error) {
    return error.text.ends_with("must be base64 text") ||
           error.text.ends_with("must be of type date-time");
}

constexpr std::size_t faults_told_whole = 100;

/// What else is wrong with an object of a built-in kind that breaks its schema: all faults are told
/// at once.
void add_other_faults(const api::Kind& kind, Value object, std::vector<api::FieldError>& wrong) {
    // Each of the others is held against each of these; who made that many hears enough.
    if (kind.validate == nullptr || wrong.size() > faults_told_whole) return;
    constexpr const char* nobodys = "00000000-0000-0000-0000-000000000000";
    // A Job's selector comes from its uid.
    if (object["metadata"].is_object() && object["metadata"]["uid"].text_or("").empty())
        object.at("metadata").set("uid", nobodys);
    if (kind.defaulting != nullptr) kind.defaulting(object);
    const auto told = [&](const std::string& field) {
        return std::any_of(wrong.begin(), wrong.end(), [&](const api::FieldError& error) {
            return error.field.starts_with(field) || field.starts_with(error.field);
        });
    };
    std::vector<api::FieldError> others;
    for (api::FieldError& error : kind.validate(object, nullptr)) {
        if (!told(error.field)) others.push_back(std::move(error));
    }
    wrong.insert(wrong.end(), others.begin(), others.end());
}

/// A write of the object leaves its status alone, whatever it says of it.
bool passes_over_status(const Exchange& exchange) {
    return exchange.kind->has_status && exchange.route.subresource.empty();
}

void forget_status(std::vector<api::FieldError>& wrong) {
    std::erase_if(wrong, [](const api::FieldError& error) {
        return error.field == "status" || error.field.starts_with("status.");
    });
}

Value without_status(Value object) {
    object.erase("status");
    return object;
}

/// Built-in kinds are typed: a wrong type cannot be decoded at all. Custom ones are invalid, and
/// may break a rule with what the stored version does not have; all others are asked later.
void check_types(const Exchange& exchange, const api::Schema& schema, const Value& object) {
    std::vector<api::FieldError> wrong = api::validate(schema, object);
    if (exchange.kind->custom) {
        check_metadata_types(exchange, wrong);
        const bool passed = passes_over_status(exchange);
        if (passed) forget_status(wrong);
        const bool converted = exchange.version->name != exchange.kind->storage;
        if (const auto silent = api::rules_not_asked(schema, wrong)) {
            wrong.push_back(*silent);
        } else if (converted || !wrong.empty()) {
            // Rules expect what keeps the schema, and a status that is passed over need not.
            const Value& asked = passed ? without_status(object) : object;
            for (api::FieldError& error : api::broken_rules(schema, asked, nullptr))
                wrong.push_back(std::move(error));
        }
        if (wrong.empty()) return;
        const auto part = api::scale_part_of(exchange.route.subresource);
        for (api::FieldError& error : api::scale_faults(*exchange.kind, object, part))
            wrong.push_back(std::move(error));
        throw invalid(*exchange.kind, object["metadata"]["name"].text_or(""), wrong);
    }
    const bool patched = exchange.route.verb == "patch" && !is_apply(exchange);
    for (const api::FieldError& error : wrong) {
        if (error.reason == "FieldValueTypeInvalid" || (patched && is_unreadable(error)))
            refuse_unreadable(exchange, error);
    }
    if (wrong.empty()) return;
    add_other_faults(*exchange.kind, object, wrong);
    throw invalid(*exchange.kind, object["metadata"]["name"].text_or(""), wrong);
}

/// In metadata nothing and an empty map or list are the same.
void drop_what_is_empty(Value& object) {
    for (const char* name : {"labels", "annotations", "finalizers", "ownerReferences"}) {
        const Value* part = std::as_const(object)["metadata"].find(name);
        if (part != nullptr && part->empty()) object.at("metadata").erase(name);
    }
}

}  // namespace

Decoded decode_yaml(std::string_view text) {
    auto parsed = api::parse_yaml(text);
    if (const auto* problem = std::get_if<api::ParseError>(&parsed)) {
        throw bad_request("error decoding YAML: " + problem->text);
    }
    auto& documents = std::get<std::vector<api::Parsed>>(parsed);
    if (documents.size() != 1) {
        throw bad_request("the body must be one YAML document, not " +
                          std::to_string(documents.size()));
    }
    return {std::move(documents[0].value), std::move(documents[0].duplicates)};
}

Decoded decode_body(const net::Request& request) {
    refuse_compressed(request);
    const std::string& body = *request.body;
    if (body.size() > body_limit) {
        throw StatusError(Reason::request_entity_too_large,
                          "Request entity too large: limit is " + std::to_string(body_limit));
    }
    const auto type = body_type(request);
    if (!type) refuse_media_type();
    Decoded decoded;
    switch (*type) {
        case BodyType::json:
            decoded = from_parsed(api::parse_json(body));
            break;
        case BodyType::yaml:
            decoded = decode_yaml(body);
            break;
        case BodyType::protobuf: {
            auto parsed = api::parse_protobuf(body);
            if (const auto* problem = std::get_if<api::ParseError>(&parsed)) {
                throw bad_request("the protobuf body cannot be read: " + problem->text);
            }
            decoded.value = std::move(std::get<Value>(parsed));
            break;
        }
        default:
            refuse_media_type();
    }
    check_object(decoded.value, body);
    return decoded;
}

Value typed_object(Exchange& exchange, Decoded decoded) {
    Value& object = decoded.value;
    check_object(object, "");
    check_type(exchange, object);
    const api::Schema& schema = *exchange.version->schema;
    check_strictly(exchange, schema, object, decoded.duplicates, cannot_handle(exchange));
    if (!object["metadata"].is_null() && !object["metadata"].is_object()) {
        throw bad_request(cannot_handle(exchange) + "metadata must be an object");
    }
    api::prune(schema, object);
    api::apply_defaults(schema, object);
    check_types(exchange, schema, object);
    if (!exchange.kind->custom) api::canonicalize(schema, object);
    drop_what_is_empty(object);
    return std::move(object);
}

Value mutated_object(const api::Kind& kind, const api::Version& version, Value object) {
    const auto refuse = [](const std::string& why) {
        return StatusError(Reason::internal_error, "Internal error occurred: " + why);
    };
    if (!object.is_object() || !object["metadata"].is_object())
        throw refuse("a webhook made something of the object that is none");
    const std::string api_version = api::to_api_version({kind.group, version.name});
    if (object["kind"].text_or("") != kind.kind ||
        object["apiVersion"].text_or("") != api_version) {
        throw refuse("a webhook may not make " + object["apiVersion"].text() + ", Kind=" +
                     object["kind"].text() + " of " + api_version + ", Kind=" + kind.kind);
    }
    const api::Schema& schema = *version.schema;
    api::prune(schema, object);
    api::apply_defaults(schema, object);
    const std::vector<api::FieldError> wrong = api::validate(schema, object);
    for (const api::FieldError& error : wrong) {
        if (!kind.custom && error.reason == "FieldValueTypeInvalid")
            throw refuse(error.field + ": " + error.text);
    }
    if (!wrong.empty()) throw invalid(kind, object["metadata"]["name"].text_or(""), wrong);
    if (!kind.custom) {
        api::canonicalize(schema, object);
        drop_what_is_empty(object);
    }
    return object;
}

/// Who applies says of which version and kind his fields are.
void check_applied_type(const Exchange& exchange, const Value& object) {
    check_type_is_text(object);
    const std::string expected =
        api::to_api_version({exchange.kind->group, exchange.version->name});
    const std::string given = object["apiVersion"].text();
    if (object["kind"].text().empty()) throw invalid_type(given, "");
    if (given != expected) {
        throw bad_request("Incorrect version specified in apply patch. Specified patch version: " +
                          given + ", expected: " + expected);
    }
}

Value typed_part(Exchange& exchange, Decoded decoded) {
    Value& object = decoded.value;
    check_object(object, *exchange.request.body);
    check_applied_type(exchange, object);
    check_type(exchange, object);
    const api::Schema& schema = *exchange.version->schema;
    // What does not fit its kind is told when it is applied, whatever `fieldValidation` says.
    if (!api::typed_faults(schema, object).empty()) return std::move(object);
    check_strictly(exchange, schema, object, decoded.duplicates,
                   exchange.kind->custom ? std::string() : cannot_handle(exchange));
    api::prune(schema, object);
    return std::move(object);
}

Value typed_body(Exchange& exchange, std::string_view api_version, std::string_view kind,
                 Strictness strictness) {
    if (exchange.request.body->empty()) return Value::object();
    Decoded decoded = decode_body(exchange.request);
    const std::string given = decoded.value["kind"].text();
    if (!given.empty() && given != kind) {
        throw bad_request("the kind in the data (" + given +
                          ") does not match the expected kind (" + std::string(kind) + ")");
    }
    const api::Schema* schema = api::find_schema(api_version, kind);
    if (schema == nullptr) return std::move(decoded.value);
    Value unchecked_type = decoded.value;
    unchecked_type.erase("apiVersion");
    unchecked_type.erase("kind");
    if (strictness == Strictness::as_asked)
        check_strictly(exchange, *schema, unchecked_type, decoded.duplicates, "");
    api::prune(*schema, decoded.value);
    for (const api::FieldError& error : api::validate(*schema, decoded.value)) {
        throw bad_request(std::string(kind) + ": " + error.field + ": " + error.text);
    }
    return std::move(decoded.value);
}

}  // namespace muster::apiserver
