// apiserver/proxy_answer.cpp - the way back of a proxied request.
#include "apiserver/proxy_answer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "apiserver/answer.h"
#include "base/text.h"
#include "net/gzip.h"

namespace muster::apiserver {
namespace {

/// A page that is longer goes through as it is.
constexpr std::size_t page_limit = 16 << 20;

class ProxyAnswer final : public net::Responder {
public:
    ProxyAnswer(ExchangePtr exchange, ProxyPlace place)
        : exchange_(std::move(exchange)), place_(std::move(place)) {}

    void respond(net::Response response) override {
        if (response.status == 0) {
            const std::string why = response.body ? *response.body : std::string("no answer");
            return send_error(*exchange_, unavailable("error trying to reach service: " + why));
        }
        clean(response);
        if (is_page(response)) response = rewritten(std::move(response));
        way().respond(std::move(response));
    }
    void begin(net::Response head) override {
        clean(head);
        if (is_page(head)) {
            held_ = std::move(head);
        } else {
            way().begin(std::move(head));
        }
    }
    void write(Bytes piece) override {
        if (!held_) return way().write(std::move(piece));
        page_ += *piece;
        if (page_.size() <= page_limit) return;
        way().begin(*std::exchange(held_, std::nullopt));
        way().write(make_bytes(std::exchange(page_, {})));
    }
    void finish() override {
        if (!held_) return way().finish();
        net::Response whole = *std::exchange(held_, std::nullopt);
        whole.body = make_bytes(std::exchange(page_, {}));
        way().respond(rewritten(std::move(whole)));
    }
    std::size_t buffered() const override { return way().buffered(); }
    net::Backlog backlog() const override { return way().backlog(); }
    void on_closed(std::function<void()> handler) override { way().on_closed(std::move(handler)); }
    std::shared_ptr<net::Channel> upgrade_websocket(std::string subprotocol) override {
        return way().upgrade_websocket(std::move(subprotocol));
    }
    std::shared_ptr<net::Channel> upgrade_raw(net::Response head) override {
        remove_connection_headers(head.headers, Upgrade::stays);
        return way().upgrade_raw(std::move(head));
    }

private:
    net::Responder& way() const { return *exchange_->responder; }

    void clean(net::Response& head) const {
        remove_connection_headers(head.headers, Upgrade::goes);
        for (auto& [name, value] : head.headers.fields) {
            if (equal_ignoring_case(name, "Location")) value = rewrite_url(value, place_);
        }
        // A pod may not open this server's own pages to other sites.
        std::erase_if(head.headers.fields, [](const auto& field) {
            return to_lower(field.first).starts_with("access-control-");
        });
    }

    bool is_page(const net::Response& head) const {
        const std::string_view type = head.headers.get("Content-Type");
        const std::string_view packing = head.headers.get("Content-Encoding");
        return equal_ignoring_case(trim(type.substr(0, type.find(';'))), "text/html") &&
               !head.headers.has("Location") && exchange_->request.method != "HEAD" &&
               (packing.empty() || packing == "identity" || packing == "gzip");
    }

    net::Response rewritten(net::Response whole) const {
        if (whole.headers.get("Content-Encoding") == "gzip") {
            auto plain = net::gunzip(*whole.body, page_limit);
            if (!plain) return whole;
            whole.body = make_bytes(*std::move(plain));
            std::erase_if(whole.headers.fields, [](const auto& field) {
                return equal_ignoring_case(field.first, "Content-Encoding");
            });
        }
        whole.body = make_bytes(rewrite_page(*whole.body, place_));
        return whole;
    }

    ExchangePtr exchange_;
    ProxyPlace place_;
    std::optional<net::Response> held_;  // The head of a page whose pieces still come.
    std::string page_;
};

}  // namespace

void remove_connection_headers(net::Headers& headers, Upgrade upgrade) {
    static constexpr std::string_view always[] = {
        "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
        "TE",         "Trailer",          "Transfer-Encoding"};
    const std::string listed(headers.get("Connection"));
    std::erase_if(headers.fields, [&](const auto& field) {
        const auto is = [&](std::string_view name) {
            return equal_ignoring_case(field.first, name);
        };
        if (is("Upgrade") || is("Connection")) return upgrade == Upgrade::goes;
        return std::any_of(std::begin(always), std::end(always), is) ||
               net::has_token(listed, field.first);
    });
}

std::shared_ptr<net::Responder> proxy_answer(ExchangePtr exchange, ProxyPlace place) {
    return std::make_shared<ProxyAnswer>(std::move(exchange), std::move(place));
}

}  // namespace muster::apiserver
