// agent/channel_protocol.cpp - see channel_protocol.h.
#include "agent/channel_protocol.h"

#include "api/json.h"

namespace muster::agent {

namespace {
constexpr unsigned char kClose = 255;
}

std::string channel_message(ExecChannel channel, std::string_view bytes) {
    std::string message(1, static_cast<char>(channel));
    message += bytes;
    return message;
}

ClientMessage parse_client_message(std::string_view message) {
    ClientMessage parsed;
    if (message.empty()) return parsed;
    const auto number = static_cast<unsigned char>(message[0]);
    const std::string_view rest = message.substr(1);
    if (number == static_cast<unsigned char>(ExecChannel::in)) {
        parsed.kind = ClientMessage::Kind::input;
        parsed.bytes = rest;
    } else if (number == kClose) {
        if (rest == std::string_view("\0", 1)) parsed.kind = ClientMessage::Kind::end_of_input;
    } else if (number == static_cast<unsigned char>(ExecChannel::resize)) {
        const auto json = api::parse_json(rest);
        if (const auto* size = std::get_if<api::Parsed>(&json)) {
            parsed.kind = ClientMessage::Kind::resize;
            parsed.width = static_cast<int>(size->value["Width"].integer_or(0));
            parsed.height = static_cast<int>(size->value["Height"].integer_or(0));
        }
    }
    return parsed;
}

std::string exit_status(int code, std::string_view failure) {
    using api::Value;
    Value status = Value::object({{"metadata", Value::object()}});
    if (code == 0 && failure.empty()) {
        status.set("status", "Success");
        return api::to_json(status);
    }
    status.set("status", "Failure");
    if (!failure.empty()) {
        status.set("reason", "InternalError");
        status.set("message", "error executing command in container: " + std::string(failure));
        status.set("code", 500);
        return api::to_json(status);
    }
    const std::string text = std::to_string(code);
    status.set("reason", "NonZeroExitCode");
    status.set("message", "command terminated with non-zero exit code: exit status " + text);
    status.set("details",
               Value::object({{"causes", Value::array({Value::object(
                                             {{"reason", "ExitCode"}, {"message", text}})})}}));
    return api::to_json(status);
}

}  // namespace muster::agent
