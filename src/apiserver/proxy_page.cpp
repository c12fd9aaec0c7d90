// apiserver/proxy_page.cpp - finds links in tags without understanding pages.
#include "apiserver/proxy_page.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/text.h"

namespace muster::apiserver {
namespace {

/// Which attributes of which tags hold links; kube-apiserver's list.
constexpr std::pair<std::string_view, std::string_view> link_attributes[] = {
    {"a", "href"},           {"applet", "codebase"},   {"area", "href"},
    {"audio", "src"},        {"base", "href"},         {"blockquote", "cite"},
    {"body", "background"},  {"button", "formaction"}, {"command", "icon"},
    {"del", "cite"},         {"embed", "src"},         {"form", "action"},
    {"frame", "longdesc"},   {"frame", "src"},         {"head", "profile"},
    {"html", "manifest"},    {"iframe", "longdesc"},   {"iframe", "src"},
    {"img", "longdesc"},     {"img", "src"},           {"img", "usemap"},
    {"input", "formaction"}, {"input", "src"},         {"input", "usemap"},
    {"ins", "cite"},         {"link", "href"},         {"object", "classid"},
    {"object", "codebase"},  {"object", "data"},       {"object", "usemap"},
    {"q", "cite"},           {"script", "src"},        {"source", "src"},
    {"video", "poster"},     {"video", "src"},
};

bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

bool is_link(std::string_view tag, std::string_view attribute) {
    return std::any_of(std::begin(link_attributes), std::end(link_attributes),
                       [&](const auto& each) {
                           return each.first == tag && equal_ignoring_case(each.second, attribute);
                       });
}

/// Reads a page from left to right and copies it, links changed.
class PageWriter {
public:
    PageWriter(std::string_view page, const ProxyPlace& place) : page_(page), place_(place) {}

    std::string write() {
        while (at_ < page_.size()) {
            if (page_[at_] != '<') {
                copy_to(page_.find('<', at_));
            } else if (page_.substr(at_).starts_with("<!--")) {
                const std::size_t end = page_.find("-->", at_ + 4);
                copy_to(end == std::string_view::npos ? end : end + 3);
            } else {
                write_tag();
            }
        }
        return std::move(out_);
    }

private:
    void copy_to(std::size_t end) {
        end = std::min(end, page_.size());
        out_ += page_.substr(at_, end - at_);
        at_ = end;
    }
    template <class Test>
    std::string_view copy_while(Test test) {
        const std::size_t begin = at_;
        std::size_t end = at_;
        while (end < page_.size() && test(page_[end]))
            ++end;
        copy_to(end);
        return page_.substr(begin, end - begin);
    }

    void write_tag() {
        copy_to(at_ + 1);
        const std::string tag = to_lower(
            copy_while([](char c) { return !is_space(c) && c != '>' && c != '/' && c != '<'; }));
        if (tag.empty()) {  // An end tag, or a mere "<".
            if (at_ < page_.size() && page_[at_] == '/') copy_to(page_.find('>', at_));
            return;
        }
        while (at_ < page_.size() && page_[at_] != '>')
            write_attribute(tag);
        copy_to(at_ + 1);
        // What stands in these is no markup.
        if (tag == "script" || tag == "style") copy_to(find_end_tag(tag));
    }

    std::size_t find_end_tag(const std::string& tag) const {
        std::size_t end = page_.find("</", at_);
        while (end != std::string_view::npos &&
               !equal_ignoring_case(page_.substr(end + 2, tag.size()), tag))
            end = page_.find("</", end + 2);
        return end;
    }

    void write_attribute(const std::string& tag) {
        copy_while([](char c) { return is_space(c) || c == '/'; });
        const std::string_view name =
            copy_while([](char c) { return !is_space(c) && c != '=' && c != '>' && c != '/'; });
        copy_while(is_space);
        if (at_ >= page_.size() || page_[at_] != '=') return;
        copy_to(at_ + 1);
        copy_while(is_space);
        if (at_ >= page_.size()) return;
        const char quote = page_[at_];
        std::size_t end = at_;
        if (quote == '"' || quote == '\'') {
            copy_to(at_ + 1);
            end = page_.find(quote, at_);
        } else {
            while (end < page_.size() && !is_space(page_[end]) && page_[end] != '>')
                ++end;
        }
        end = std::min(end, page_.size());
        if (!is_link(tag, name)) return copy_value(end, quote);
        out_ += rewrite_url(page_.substr(at_, end - at_), place_);
        at_ = end;
        copy_value(end, quote);
    }

    /// The rest of a value and its closing quote.
    void copy_value(std::size_t end, char quote) {
        copy_to(end);
        if (at_ < page_.size() && page_[at_] == quote) copy_to(at_ + 1);
    }

    std::string_view page_;
    const ProxyPlace& place_;
    std::size_t at_ = 0;
    std::string out_;
};

}  // namespace

std::string rewrite_url(std::string_view url, const ProxyPlace& place) {
    std::string_view path = url;
    const std::size_t scheme = url.find("://");
    const bool absolute = scheme != std::string_view::npos && scheme < url.find_first_of("/?#");
    if (absolute || url.starts_with("//")) {
        const std::size_t begin = absolute ? scheme + 3 : 2;
        const std::size_t end = std::min(url.find_first_of("/?#", begin), url.size());
        const std::string_view host = url.substr(begin, end - begin);
        // Somebody else's.
        if (host != place.endpoint && host != place.host) return std::string(url);
        path = url.substr(end);
    }
    if (!path.starts_with('/')) return std::string(url);
    const bool there = path.starts_with(place.prefix);
    return there ? std::string(path) : place.prefix + std::string(path);
}

std::string rewrite_page(std::string_view page, const ProxyPlace& place) {
    return PageWriter(page, place).write();
}

}  // namespace muster::apiserver
