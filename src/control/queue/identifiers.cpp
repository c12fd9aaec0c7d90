// control/queue/identifiers.cpp - reads the annotation, then the label.
#include "control/queue/identifiers.h"

#include "control/queue/integration.h"
#include "control/queue/names.h"

namespace muster::control::queue {
namespace {

using api::Value;

// The names are those of the labels, which are the annotations' too.

const Value& annotation_of(const Value& object, std::string_view name) {
    return object["metadata"]["annotations"][name];
}

bool is_annotated(const Value& object, std::string_view name) {
    return !annotation_of(object, name).text_or("").empty();
}

std::string_view said(const Value& object, std::string_view name) {
    if (is_annotated(object, name)) return annotation_of(object, name).as_string();
    return object["metadata"]["labels"][name].text_or("");
}

std::string_view said(const kube::Object& object, std::string_view name) {
    const std::string_view annotated = object.annotation(name);
    return annotated.empty() ? object.label(name) : annotated;
}

std::string path_of(const Value& object, std::string_view name) {
    return is_annotated(object, name) ? annotation_path(name) : label_path(name);
}

void check_name(const Value& object, std::string_view name, FieldErrors& errors) {
    if (is_annotated(object, name)) {
        check_name_at(annotation_path(name), annotation_of(object, name), errors);
    } else {
        check_name_in_label(object, name, errors);
    }
}

}  // namespace

std::string_view group_of(const Value& pod) {
    return said(pod, group_label);
}

std::string_view group_of(const kube::Object& pod) {
    return said(pod, group_label);
}

std::string_view prebuilt_of(const Value& job) {
    return said(job, prebuilt_label);
}

std::string_view prebuilt_of(const kube::Object& job) {
    return said(job, prebuilt_label);
}

std::string_view workload_named_by(const kube::Object& pod) {
    return pod.annotation(workload_annotation);
}

std::string_view first_slice_of(const kube::Object& workload) {
    return workload.annotation(slice_name_annotation);
}

bool has_group_annotation(const Value& pod) {
    return is_annotated(pod, group_label);
}

std::string group_path(const Value& pod) {
    return path_of(pod, group_label);
}

std::string prebuilt_path(const Value& job) {
    return path_of(job, prebuilt_label);
}

void check_group_name(const Value& pod, FieldErrors& errors) {
    check_name(pod, group_label, errors);
}

void check_prebuilt_name(const Value& job, FieldErrors& errors) {
    check_name(job, prebuilt_label, errors);
}

void set_group(Value& pod, std::string_view workload) {
    Value& annotations = at_path(pod, "metadata.annotations");
    annotations.set(group_label, Value(workload));
    annotations.set(prebuilt_label, Value(workload));
}

}  // namespace muster::control::queue
