// api/builtin/event_validation.cpp - what Kubernetes refuses in events; and, in all of them, what
// is said of another namespace's object.
#include <string>

#include "api/builtin/validation.h"
#include "api/field_error.h"
#include "base/dns_name.h"

namespace muster::api {
namespace {

constexpr std::size_t short_max = 128;
constexpr std::size_t note_max = 1024;

/// An event is in the namespace of what it is about; of what is in none, in one of the system's.
bool is_in_place(const Value& event, bool new_style) {
    const std::string ns = event["metadata"]["namespace"].text();
    const std::string about = event["involvedObject"]["namespace"].text();
    if (!about.empty()) return about == ns;
    return ns == "default" || (new_style && ns == "kube-system");
}

void check_length(const Value& event, const char* field, std::size_t max, FieldErrors& errors) {
    if (event[field].text_or("").size() <= max) return;
    const Path root;
    errors.push_back(invalid(root.child(field), Value(""),
                             "can have at most " + std::to_string(max) + " characters"));
}

/// What the writer of an event with a time must say of itself.
void check_report(const Value& event, const char* controller_field, FieldErrors& errors) {
    const Path root;
    const Path controller = root.child(controller_field);
    const Value& name = event["reportingComponent"];
    if (name.text_or("").empty()) errors.push_back(required(controller));
    add_invalid(errors, controller, Value(name.text()), label_key_faults(name.text_or("")));
    for (const char* field : {"reportingInstance", "action", "reason"}) {
        if (event[field].text_or("").empty()) errors.push_back(required(root.child(field)));
        check_length(event, field, short_max, errors);
    }
    check_length(event, "message", note_max, errors);
}

FieldErrors event_faults(const Value& event, const char* controller_field) {
    FieldErrors errors;
    const Path root;
    const bool new_style = !event["eventTime"].is_null();
    if (!is_in_place(event, new_style)) {
        const Path involved = root.child("involvedObject");
        errors.push_back(invalid(involved.child("namespace"),
                                 Value(event["involvedObject"]["namespace"].text()),
                                 "does not match event.namespace"));
    }
    if (new_style) check_report(event, controller_field, errors);
    return errors;
}

void check_series(const Value& series, FieldErrors& errors) {
    if (series.is_null()) return;
    const Path root;
    const Path path = root.child("series");
    if (series["count"].integer_or(0) < 2)
        errors.push_back(invalid(path.child("count"), Value(""), "should be at least 2"));
    if (series["lastObservedTime"].is_null())
        errors.push_back(required(path.child("lastObservedTime")));
}

void check_new(const Value& event, FieldErrors& errors) {
    const Path root;
    check_series(event["series"], errors);
    if (event["eventTime"].is_null()) errors.push_back(required(root.child("eventTime")));
    const std::string type = event["type"].text();
    if (type != "Normal" && type != "Warning")
        errors.push_back(invalid(root.child("type"), Value(""), "has invalid value: " + type));
    const auto unset = [&](const char* field, bool set) {
        if (set) errors.push_back(invalid(root.child(field), Value(""), "needs to be unset"));
    };
    unset("firstTimestamp", !event["firstTimestamp"].is_null());
    unset("lastTimestamp", !event["lastTimestamp"].is_null());
    unset("count", event["count"].integer_or(0) != 0);
    const Value& source = event["source"];
    unset("source",
          !source["component"].text_or("").empty() || !source["host"].text_or("").empty());
}

void check_kept(const Value& event, const Value& old, FieldErrors& errors) {
    const Path root;
    if (!(event["series"] == old["series"])) check_series(event["series"], errors);
    for (const char* field : {"involvedObject", "reason", "message", "source", "firstTimestamp",
                              "lastTimestamp", "count", "type", "eventTime", "action", "related",
                              "reportingComponent", "reportingInstance"}) {
        if (event[field] == old[field]) continue;
        const bool component = std::string_view(field) == "reportingComponent";
        errors.push_back(invalid(root.child(component ? "reportingController" : field),
                                 event[field], "field is immutable"));
    }
}

}  // namespace

FieldErrors validate_event(const Value& event, const Value*) {
    return event_faults(event, "reportingComponent");
}

FieldErrors validate_new_event(const Value& event, const Value* old) {
    FieldErrors errors = event_faults(event, "reportingController");
    if (old == nullptr) {
        check_new(event, errors);
    } else {
        check_kept(event, *old, errors);
    }
    return errors;
}

}  // namespace muster::api
