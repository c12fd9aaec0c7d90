// apiserver/request_options.cpp - the rules of CreateOptions, UpdateOptions, PatchOptions,
// ListOptions and DeleteOptions.
#include "apiserver/request_options.h"

#include <cstddef>
#include <string>
#include <vector>

#include "api/field_error.h"
#include "base/text.h"
#include "net/query_flag.h"

namespace muster::apiserver {
namespace {

using api::FieldError;
using api::Path;
using api::Value;
using Errors = std::vector<FieldError>;

constexpr std::size_t longest_manager = 128;

void refuse(std::string_view kind, const Errors& errors) {
    if (!errors.empty()) throw invalid_options(kind, errors);
}

void check_dry_run(const Value& dry_run, Errors& errors) {
    for (const Value& each : dry_run.items()) {
        if (each.text() == "All") continue;
        errors.push_back(api::not_supported(Path().child("dryRun"), dry_run, {"All"}));
        return;
    }
}

void check_field_manager(std::string_view manager, Errors& errors) {
    const Path path = Path().child("fieldManager");
    if (manager.size() > longest_manager)
        errors.push_back(api::too_long(path, static_cast<std::int64_t>(longest_manager)));
    for (std::size_t i = 0; i < manager.size(); ++i) {
        const auto c = static_cast<unsigned char>(manager[i]);
        if (c >= ' ' && c != 0x7f) continue;
        constexpr char digits[] = "0123456789ABCDEF";
        const std::string code = {'0', '0', digits[c >> 4], digits[c & 15]};
        errors.push_back(api::invalid(
            path, Value(std::string(manager)),
            "invalid character U+" + code + " (at position " + std::to_string(i) + ")"));
    }
}

void check_field_validation(std::string_view mode, Errors& errors) {
    if (mode.empty() || mode == "Ignore" || mode == "Strict" || mode == "Warn") return;
    errors.push_back(api::not_supported(Path().child("fieldValidation"), Value(std::string(mode)),
                                        {"", "Ignore", "Strict", "Warn"}));
}

void check_match(const net::Request& request, bool watch, Errors& errors) {
    const Path path = Path().child("resourceVersionMatch");
    const std::string match(request.query_value("resourceVersionMatch"));
    const std::string_view version = request.query_value("resourceVersion");
    const bool initial = request.has_query("sendInitialEvents");
    if (watch && initial && match != "NotOlderThan") {
        errors.push_back(api::forbidden(
            path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
    }
    if (match.empty()) return;
    if (watch && !initial) {
        errors.push_back(api::forbidden(path,
                                        "resourceVersionMatch is forbidden for watch unless "
                                        "sendInitialEvents is provided"));
    }
    if (!watch && version.empty()) {
        errors.push_back(api::forbidden(
            path, "resourceVersionMatch is forbidden unless resourceVersion is provided"));
    }
    const FieldError goes_on =
        api::forbidden(path, "resourceVersionMatch is forbidden when continue is provided");
    const bool has_continue = !request.query_value("continue").empty();
    if (!watch && has_continue) errors.push_back(goes_on);
    std::vector<std::string> allowed{"NotOlderThan"};
    if (!watch) allowed = {"", "Exact", "NotOlderThan"};
    if (match != "NotOlderThan" && (watch || match != "Exact"))
        errors.push_back(api::not_supported(path, Value(match), allowed));
    if (watch && has_continue) errors.push_back(goes_on);
    if (!watch && match == "Exact" && version == "0") {
        errors.push_back(api::forbidden(
            path, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
    }
}

}  // namespace

std::optional<std::int64_t> query_number(const net::Request& request, std::string_view name) {
    const std::string_view text = request.query_value(name);
    if (!request.has_query(name)) return std::nullopt;
    if (const auto number = parse_integer(text)) return number;
    throw bad_request("strconv.ParseInt: parsing " + quoted(text) + ": invalid syntax");
}

void check_write_options(const Exchange& exchange) {
    const net::Request& request = exchange.request;
    const bool patch = exchange.route.verb == "patch";
    const bool apply = patch && body_type(request) == BodyType::apply_patch;
    const std::string_view manager = request.query_value("fieldManager");
    Errors errors;
    if (apply && manager.empty()) {
        errors.push_back(
            api::required(Path().child("fieldManager"), "is required for apply patch"));
    } else if (patch && !apply && request.has_query("force")) {
        errors.push_back(
            api::forbidden(Path().child("force"), "may not be specified for non-apply patch"));
    }
    check_field_manager(manager, errors);
    Value dry_run = Value::array();
    for (const auto& [name, value] : request.query) {
        if (name == "dryRun") dry_run.push(value);
    }
    check_dry_run(dry_run, errors);
    check_field_validation(request.query_value("fieldValidation"), errors);
    const bool create = exchange.route.verb == "create";
    refuse(patch ? "PatchOptions" : create ? "CreateOptions" : "UpdateOptions", errors);
}

void check_list_options(const net::Request& request) {
    (void)query_number(request, "limit");
    (void)query_number(request, "timeoutSeconds");
    const bool watch = net::query_flag(request, "watch");
    Errors errors;
    check_match(request, watch, errors);
    if (!watch && request.has_query("sendInitialEvents")) {
        errors.push_back(api::forbidden(Path().child("sendInitialEvents"),
                                        "sendInitialEvents is forbidden for list"));
    }
    refuse("ListOptions", errors);
}

void check_delete_options(const Value& options) {
    const Value& policy = options["propagationPolicy"];
    const std::string text = policy.text();
    const Path path = Path().child("propagationPolicy");
    Errors errors;
    if (!options["orphanDependents"].is_null() && !policy.is_null()) {
        errors.push_back(api::invalid(
            path, policy, "orphanDependents and deletionPropagation cannot be both set"));
    }
    if (!policy.is_null() && text != "Orphan" && text != "Background" && text != "Foreground") {
        errors.push_back(
            api::not_supported(path, policy, {"Foreground", "Background", "Orphan", "nil"}));
    }
    check_dry_run(options["dryRun"], errors);
    refuse("DeleteOptions", errors);
}

}  // namespace muster::apiserver
