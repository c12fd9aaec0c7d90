// api/label_rules.h - checks of labels, selectors, taints and tolerations, wherever they stand.
#pragma once

#include <vector>

#include "api/path.h"
#include "api/schema.h"
#include "api/value.h"

namespace muster::api {

void check_labels(const Value& labels, const Path& path, std::vector<FieldError>& errors);
void check_annotations(const Value& annotations, const Path& path, std::vector<FieldError>& errors);
void check_label_selector(const Value& selector, const Path& path, std::vector<FieldError>& errors);
/// A metav1.LabelSelector against labels, both as they stand in objects. An empty one matches all.
bool selector_matches(const Value& selector, const Value& labels);
void check_taints(const Value& taints, const Path& path, std::vector<FieldError>& errors);
void check_tolerations(const Value& tolerations, const Path& path, std::vector<FieldError>& errors);

}  // namespace muster::api
