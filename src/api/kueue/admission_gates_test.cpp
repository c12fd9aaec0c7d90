// api/kueue/admission_gates_test.cpp - an annotation of gates that somebody made as long as he
// could is refused shortly, whatever is wrong with it.
#include "api/kueue/admission_gates.h"

#include <string>

#include <doctest/doctest.h>

#include "api/denial.h"
#include "api/json.h"
#include "base/processor_time.h"

namespace muster::api {
namespace {

constexpr const char* annotation = "kueue.x-k8s.io/admission-gated-by";
constexpr std::size_t body_size = 3 << 20;

Value gated(const std::string& gates) {
    return Value::object(
        {{"metadata",
          Value::object({{"annotations", Value::object({{annotation, Value(gates)}})}})}});
}

std::vector<FieldError> faults_of(const std::string& gates, const Value* before = nullptr) {
    std::vector<FieldError> errors;
    check_admission_gates(before, gated(gates), errors);
    return errors;
}

/// `part` again and again, up to the size of a body.
std::string many(const std::string& part) {
    std::string text;
    while (text.size() < body_size)
        text += part;
    return text;
}

std::size_t size_of(const std::vector<FieldError>& errors) {
    std::size_t size = 0;
    for (const FieldError& error : errors)
        size += error.text.size();
    return size;
}

TEST_CASE("of a long annotation of gates some faults are told, and how much was not looked at") {
    for (const std::string part : {",", "a.io/b,", "no-path,", "a_b/c d,"}) {
        CAPTURE(part);
        const std::vector<FieldError> errors = faults_of(many(part));
        // Each gate may have two faults.
        CHECK(errors.size() <= 102);
        CHECK(size_of(errors) < 200'000);
        CHECK(errors.back().text.ends_with(" more were not looked at"));
        CHECK(joined(errors).size() < 200'000);
    }
    const std::vector<FieldError> empty = faults_of(std::string(1000, ','));
    CHECK(empty[0].text ==
          "Invalid value: \"" + std::string(499, ',') + "...: cannot contain empty gate names");
    CHECK(empty.back().text.ends_with("...: and 901 more were not looked at"));
}

TEST_CASE("as many faults as a person makes are all told") {
    std::string gates;
    for (int i = 0; i < 99; ++i)
        gates += "g" + std::to_string(i) + ",";
    const std::vector<FieldError> errors = faults_of(gates);
    CHECK(errors.size() == 100);
    CHECK(errors.back().text.ends_with("cannot contain empty gate names"));
}

TEST_CASE("gates are held against those of before in little time") {
    std::string gates;
    for (int i = 0; gates.size() < body_size; ++i)
        gates += (gates.empty() ? "a.io/" : ",a.io/") + std::to_string(i);
    const Value before = gated(gates);
    CHECK(processor_time([&] { CHECK(faults_of(gates, &before).empty()); }) < 8);
}

TEST_CASE("very many errors are joined in little time, equal ones once") {
    std::vector<FieldError> errors;
    constexpr int count = 100'000;
    for (int i = 0; i < count; ++i) {
        for (int twice = 0; twice < 2; ++twice)
            errors.push_back({"FieldValueInvalid", "spec", "wrong in way " + std::to_string(i)});
    }
    std::string text;
    CHECK(processor_time([&] { text = joined(errors); }) < 8);
    CHECK(text.starts_with("[spec: wrong in way 0, spec: wrong in way 1, "));
    CHECK(text.ends_with(", spec: wrong in way " + std::to_string(count - 1) + "]"));
}

}  // namespace
}  // namespace muster::api
