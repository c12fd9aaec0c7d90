// control/refusal.cpp - denying a field that is not served.
#include "control/refusal.h"

#include <utility>

namespace muster::control {

api::Admission refuse_field(const std::string& path, const std::string& why) {
    api::Admission::Denial denial;
    denial.reason = Reason::invalid;
    const std::string text = "not served by this version of Muster" + why;
    denial.text = path + ": " + text;
    // Clients write the field in front themselves.
    denial.causes.push_back({"FieldValueForbidden", path, text});
    api::Admission answer;
    answer.denied = std::move(denial);
    return answer;
}

}  // namespace muster::control
