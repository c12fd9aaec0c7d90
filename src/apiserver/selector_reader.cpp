// apiserver/selector_reader.cpp - the grammar of selectors in a query, with the words of the
// reference for what is none.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/selector.h"
#include "apiserver/status_error.h"
#include "base/dns_name.h"
#include "base/text.h"

namespace muster::apiserver {
namespace {

constexpr std::string_view blanks = " \t\r\n";
constexpr std::string_view signs = "=!(),<>";

struct Token {
    std::string text;  // Empty at the end.
    bool sign = false;

    bool is(std::string_view sign_text) const { return sign && text == sign_text; }
    bool is_word() const { return !sign && !text.empty(); }
    bool is_end() const { return text.empty(); }
};

std::vector<Token> tokens_of(std::string_view text) {
    std::vector<Token> tokens;
    while (true) {
        text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
        if (text.empty()) break;
        Token token;
        token.sign = signs.find(text.front()) != std::string_view::npos;
        std::size_t length = 1;
        if (!token.sign) {
            length = std::min(text.find_first_of("=!(),<> \t\r\n"), text.size());
        } else if (text.starts_with("==") || text.starts_with("!=")) {
            length = 2;
        }
        token.text = text.substr(0, length);
        tokens.push_back(std::move(token));
        text.remove_prefix(length);
    }
    tokens.emplace_back();
    return tokens;
}

std::string invalid_text(const std::string& at, const std::string& value,
                         const std::vector<std::string>& faults) {
    return at + ": Invalid value: " + quoted(value) + ": " + join(faults, "; ");
}

/// As the code that reads the fields of that kind says it.
std::string not_supported(const api::Kind& kind, const std::string& field) {
    if (kind.resource() == api::GroupResource{"batch", "jobs"})
        return "field label \"" + field + "\" not supported for Job";
    if (!kind.custom && kind.selectable_fields.empty()) {
        return "\"" + field +
               "\" is not a known field selector: only \"metadata.name\", "
               "\"metadata.namespace\"";
    }
    return "field label not supported: " + field;
}

}  // namespace

/// Reads the selector language, one requirement after the other.
class LabelSelectorReader {
public:
    explicit LabelSelectorReader(std::string_view text) : tokens_(tokens_of(text)) {}

    LabelSelector read() {
        LabelSelector selector;
        while (!peek().is_end()) {
            if (!peek().is_word() && !peek().is("!"))
                throw bad_request("found '" + peek().text +
                                  "', expected: !, identifier, or 'end of string'");
            selector.requirements_.push_back(requirement());
            if (selector.requirements_.size() > LabelSelector::requirements_max)
                throw bad_request("the label selector has more than " +
                                  std::to_string(LabelSelector::requirements_max) +
                                  " requirements; name values in one: KEY in (A,B,...)");
            const Token after = take();
            if (after.is_end()) break;
            if (!after.is(","))
                throw bad_request("found '" + after.text + "', expected: ',' or 'end of string'");
            if (!peek().is_word() && !peek().is("!"))
                throw bad_request("found '" + peek().text + "', expected: identifier after ','");
        }
        return selector;
    }

private:
    using Operator = LabelSelector::Operator;
    using Requirement = LabelSelector::Requirement;

    [[noreturn]] static void fail(const std::string& why) {
        throw bad_request("unable to parse requirement: " + why);
    }
    [[noreturn]] static void fail(const Token& found, const std::string& expected) {
        fail("found '" + found.text + "', expected: " + expected);
    }
    const Token& peek() const { return tokens_[at_]; }
    Token take() {
        const Token taken = peek();
        if (at_ + 1 < tokens_.size()) ++at_;  // The end stays.
        return taken;
    }

    Requirement requirement() {
        Requirement made;
        const bool negated = peek().is("!");
        if (negated) take();
        const Token key = take();
        if (!key.is_word()) fail(key, "identifier");
        if (const auto faults = label_key_faults(key.text); !faults.empty())
            fail(invalid_text("<nil>", key.text, faults));
        made.key = key.text;
        made.op = negated ? Operator::absent : Operator::exists;
        if (negated || peek().is_end() || peek().is(",")) return made;
        const Token op = take();
        if (!op.sign && (op.text == "in" || op.text == "notin")) {
            made.op = op.text == "in" ? Operator::in : Operator::not_in;
            made.values = values();
        } else if (op.is("=") || op.is("==") || op.is("!=") || op.is(">") || op.is("<")) {
            made.op = op.is(">")    ? Operator::greater
                      : op.is("<")  ? Operator::less
                      : op.is("!=") ? Operator::not_in
                                    : Operator::in;
            made.values = {exact_value()};
        } else {
            fail(op, "in, notin, =, ==, !=, gt, lt");
        }
        check_values(made);
        return made;
    }

    std::string exact_value() {
        if (peek().is_end() || peek().is(",")) return "";
        const Token value = take();
        if (!value.is_word()) fail(value, "identifier");
        return value.text;
    }

    std::vector<std::string> values() {
        const Token open = take();
        if (!open.is("(")) fail("found '" + open.text + "' expected: '('");
        if (peek().is(")")) {
            take();
            return {""};
        }
        if (!peek().is_word() && !peek().is(",")) fail(peek(), "',', ')' or identifier");
        std::vector<std::string> found;
        while (true) {
            const Token each = take();
            if (each.is_word()) {
                found.push_back(each.text);
                if (peek().is(")")) break;
                if (!peek().is(",")) fail(peek(), "',' or ')'");
            } else if (each.is(",")) {
                if (found.empty() || peek().is(",") || peek().is(")")) found.emplace_back();
                if (peek().is(")")) break;
            } else {
                fail(each, "',', or identifier");
            }
        }
        take();
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        return found;
    }

    static void check_values(const Requirement& made) {
        std::vector<std::string> wrong;
        const bool numbers = made.op == Operator::greater || made.op == Operator::less;
        for (std::size_t i = 0; numbers && i < made.values.size(); ++i) {
            if (parse_integer(made.values[i])) continue;
            wrong.push_back(
                invalid_text("values[" + std::to_string(i) + "]", made.values[i],
                             {"for 'Gt', 'Lt' operators, the value must be an integer"}));
        }
        for (std::size_t i = 0; i < made.values.size(); ++i) {
            const auto faults = label_value_faults(made.values[i]);
            if (faults.empty()) continue;
            wrong.push_back(invalid_text("values[" + std::to_string(i) + "][" + made.key + "]",
                                         made.values[i], faults));
        }
        if (wrong.size() == 1) fail(wrong.front());
        if (!wrong.empty()) fail("[" + join(wrong, ", ") + "]");
    }

    std::vector<Token> tokens_;
    std::size_t at_ = 0;
};

LabelSelector LabelSelector::parse(std::string_view text) {
    LabelSelector selector = LabelSelectorReader(text).read();
    selector.settle();
    return selector;
}

FieldSelector FieldSelector::parse(const api::Kind& kind, std::string_view text) {
    FieldSelector selector;
    const std::string whole(text);
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view term = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        if (term.empty()) continue;
        const std::size_t equal = term.find('=');
        if (equal == std::string_view::npos) {
            throw bad_request("invalid selector: '" + whole + "'; can't understand '" +
                              std::string(term) + "'");
        }
        Term parsed;
        std::string stored_field;
        parsed.equal = equal == 0 || term[equal - 1] != '!';
        parsed.field = term.substr(0, parsed.equal ? equal : equal - 1);
        // The newer form of events is kept in the older one, where these have other names.
        if (!kind.stored_as.empty() && parsed.field.starts_with("regarding.")) {
            stored_field = "involvedObject" + parsed.field.substr(9);
        } else if (!kind.stored_as.empty() && parsed.field == "reportingController") {
            stored_field = "reportingComponent";
        }
        std::string_view value = term.substr(equal + 1);
        if (parsed.equal && !value.empty() && value.front() == '=') value.remove_prefix(1);
        if (value.find('=') != std::string_view::npos) {
            throw bad_request("invalid field selector: unescaped character in value: 61");
        }
        parsed.value = value;
        const auto& fields = kind.selectable_fields;
        if (parsed.field != "metadata.name" && parsed.field != "metadata.namespace" &&
            std::find(fields.begin(), fields.end(), parsed.field) == fields.end()) {
            throw bad_request(not_supported(kind, parsed.field));
        }
        const bool is_flag =
            parsed.field == "spec.hostNetwork" || parsed.field == "spec.unschedulable";
        if (is_flag && !kind.custom) parsed.unset = "false";
        if (kind.plural == "jobs" && parsed.field == "status.successful") {
            stored_field = "status.succeeded";
            parsed.unset = "0";
        }
        if (!stored_field.empty()) parsed.field = stored_field;
        selector.terms_.push_back(std::move(parsed));
        if (selector.terms_.size() > terms_max)
            throw bad_request("the field selector has more than " + std::to_string(terms_max) +
                              " terms");
    }
    return selector;
}

}  // namespace muster::apiserver
