// api/json_syntax.cpp - a strict JSON reader that only looks for the first fault.
#include "api/json_syntax.h"

#include <algorithm>

#include "base/text.h"

namespace muster::api {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Recursive descent over the text; stops at the first fault.
class Checker {
public:
    Checker(std::string_view text, int depth_max) : text_(text), depth_left_(depth_max) {}

    JsonSyntax run() {
        if (value()) {
            skip_blanks();
            if (at_ < text_.size()) unexpected("after top-level value");
        }
        return std::move(result_);
    }

private:
    bool fail(const std::string& why) {
        if (!result_.fault) result_.fault = why + " (" + line_and_column(text_, at_) + ")";
        return false;
    }

    bool unexpected(const char* where) {
        if (at_ >= text_.size()) return fail("unexpected end of JSON input");
        const std::size_t length = utf8_length(text_.substr(at_));
        if (length == 0) return fail("invalid UTF-8");
        std::string shown(text_.substr(at_, length));
        if (shown == "'") shown = "\\'";
        if (shown == "\n") shown = "\\n";
        if (shown == "\r") shown = "\\r";
        if (shown == "\t") shown = "\\t";
        if (shown[0] == '\0') shown = "\\x00";
        return fail("invalid character '" + shown + "' " + where);
    }

    void skip_blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' ||
                                      text_[at_] == '\t' || text_[at_] == '\r')) {
            ++at_;
        }
    }

    bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }

    bool value() {
        skip_blanks();
        if (next_is('{')) return nested(&Checker::object);
        if (next_is('[')) return nested(&Checker::array);
        if (next_is('"')) return string();
        if (next_is('t')) return word("true");
        if (next_is('f')) return word("false");
        if (next_is('n')) return word("null");
        if (next_is('-') || (at_ < text_.size() && is_digit(text_[at_]))) return number();
        return unexpected("looking for beginning of value");
    }

    bool nested(bool (Checker::*read)()) {
        if (depth_left_ == 0) return fail("exceeded max depth");
        --depth_left_;
        ++at_;
        const bool good = (this->*read)();
        ++depth_left_;
        return good;
    }

    bool object() {
        skip_blanks();
        if (next_is('}')) return ++at_, true;
        for (;;) {
            skip_blanks();
            if (!next_is('"')) return unexpected("looking for beginning of object key string");
            if (!string()) return false;
            skip_blanks();
            if (!next_is(':')) return unexpected("after object key");
            ++at_;
            if (!value()) return false;
            skip_blanks();
            if (next_is('}')) return ++at_, true;
            if (!next_is(',')) return unexpected("after object key:value pair");
            ++at_;
        }
    }

    bool array() {
        skip_blanks();
        if (next_is(']')) return ++at_, true;
        for (;;) {
            if (!value()) return false;
            skip_blanks();
            if (next_is(']')) return ++at_, true;
            if (!next_is(',')) return unexpected("after array element");
            ++at_;
        }
    }

    bool word(std::string_view expected) {
        for (std::size_t i = 0; i < expected.size(); ++i, ++at_) {
            if (next_is(expected[i])) continue;
            const std::string where =
                "in literal " + std::string(expected) + " (expecting '" + expected[i] + "')";
            return unexpected(where.c_str());
        }
        return true;
    }

    bool digits(const char* where) {
        if (at_ >= text_.size() || !is_digit(text_[at_])) return unexpected(where);
        while (at_ < text_.size() && is_digit(text_[at_]))
            ++at_;
        return true;
    }

    bool number() {
        if (next_is('-')) ++at_;
        const std::size_t start = at_;
        if (next_is('0')) {
            ++at_;
        } else if (!digits("in numeric literal")) {
            return false;
        }
        const std::size_t end = at_;
        bool integer = true;
        if (next_is('.')) {
            ++at_;
            integer = false;
            if (!digits("after decimal point in numeric literal")) return false;
        }
        if (next_is('e') || next_is('E')) {
            ++at_;
            integer = false;
            if (next_is('+') || next_is('-')) ++at_;
            if (!digits("in exponent of numeric literal")) return false;
        }
        if (integer && end - start >= 19) result_.long_integers.push_back(end);
        return true;
    }

    /// Four hexadecimal digits, or -1.
    int code_unit() {
        int unit = 0;
        for (int i = 0; i < 4; ++i, ++at_) {
            const char c = at_ < text_.size() ? text_[at_] : '\0';
            int digit = is_digit(c) ? c - '0' : -1;
            if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
            if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
            if (digit < 0) return unexpected("in \\u hexadecimal character escape"), -1;
            unit = unit * 16 + digit;
        }
        return unit;
    }

    bool escape() {
        ++at_;
        if (at_ < text_.size() && std::string_view("\"\\/bfnrt").find(text_[at_]) < 8) {
            ++at_;
            return true;
        }
        if (!next_is('u')) return unexpected("in string escape code");
        ++at_;
        const int unit = code_unit();
        if (unit < 0) return false;
        if (unit >= 0xdc00 && unit <= 0xdfff) return fail("unpaired surrogate in string");
        if (unit < 0xd800 || unit > 0xdbff) return true;
        if (text_.substr(at_, 2) != "\\u") return fail("unpaired surrogate in string");
        at_ += 2;
        const int low = code_unit();
        if (low < 0) return false;
        return (low >= 0xdc00 && low <= 0xdfff) || fail("unpaired surrogate in string");
    }

    bool string() {
        ++at_;
        while (at_ < text_.size()) {
            const unsigned char c = static_cast<unsigned char>(text_[at_]);
            if (c == '"') return ++at_, true;
            if (c == '\\') {
                if (!escape()) return false;
            } else if (c < 0x20) {
                return unexpected("in string literal");
            } else {
                const std::size_t length = utf8_length(text_.substr(at_));
                if (length == 0) return fail("invalid UTF-8");
                at_ += length;
            }
        }
        return unexpected("in string literal");
    }

    std::string_view text_;
    int depth_left_;
    std::size_t at_ = 0;
    JsonSyntax result_;
};

}  // namespace

JsonSyntax check_json_syntax(std::string_view text, int depth_max) {
    return Checker(text, depth_max).run();
}

std::string line_and_column(std::string_view text, std::size_t offset) {
    const std::string_view before = text.substr(0, offset);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t last_break = before.rfind('\n');
    const std::size_t column =
        last_break == std::string_view::npos ? before.size() + 1 : before.size() - last_break;
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

}  // namespace muster::api
