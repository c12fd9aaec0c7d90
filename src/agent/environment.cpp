// agent/environment.cpp - see environment.h.
#include "agent/environment.h"

#include <cctype>

#include "agent/network.h"
#include "base/dns_name.h"
#include "base/error.h"
#include "base/text.h"

namespace muster::agent {

namespace {

using api::Value;

constexpr std::size_t kNameShown = 253;  // Of a name in a message.
constexpr const char* kUsualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string variable_name(const std::string& service) {
    std::string name;
    for (const char c : service)
        name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return name;
}

/// Fills variables from services, from whole objects, then one by one. All throw Error at the first
/// problem. What is replaced later counts too: nobody needs it.
class Maker {
public:
    Maker(const Value& pod, const Value& container, const Sources& sources, const PodPlace& place)
        : pod_(pod), container_(container), sources_(sources), place_(place) {}

    void add(const std::string& name, std::string value);
    void add_services();
    void add_from_objects();
    void add_each();
    void add_command(const ImageMapping& image);
    void check_paths();
    Variables variables;
    std::vector<std::string> command;

private:
    void add_service(const std::string& name, const std::string& ip, const Value& ports);
    void count(std::size_t size);
    void add_object(const Value& reference, const char* kind,
                    const std::map<std::string, Value>& known, const std::string& prefix);
    void add_key(const std::string& name, const Value& reference, const char* kind,
                 const std::map<std::string, Value>& known);
    void add_text(const std::string& name, const std::string& value, const std::string& origin);
    [[noreturn]] static void fail(const std::string& text) { throw Error(Reason::invalid, text); }

    const Value& pod_;
    const Value& container_;
    const Sources& sources_;
    const PodPlace& place_;
    std::size_t counted_ = 0;
};

void Maker::count(std::size_t size) {
    counted_ += size + 1 + sizeof(char*);
    if (counted_ > kWordsLimit)
        fail(
            "its variables, command and paths together are longer than " +
            std::to_string(kWordsLimit) +
            " bytes, which is what Linux lets a program have (a pod with enableServiceLinks: false "
            "has no variables of services)");
}

void Maker::add(const std::string& name, std::string value) {
    if (name.size() + 1 + value.size() > kWordLimit)
        fail("variable " + std::string(utf8_prefix(name, kNameShown)) +
             ": with its name it is longer than " + std::to_string(kWordLimit) +
             " bytes, which is what Linux lets a variable be");
    count(name.size() + 1 + value.size());
    variables.set(name, std::move(value));
}

/// What every pod finds of a service, in the two old styles.
void Maker::add_service(const std::string& name, const std::string& ip, const Value& ports) {
    const std::string prefix = variable_name(name);
    const auto number = [](const Value& port) {
        return std::to_string(port["port"].integer_or(0));
    };
    add(prefix + "_SERVICE_HOST", ip);
    add(prefix + "_SERVICE_PORT", number(ports[0]));
    for (const Value& port : ports.items())
        if (!port["name"].text().empty())
            add(prefix + "_SERVICE_PORT_" + variable_name(port["name"].text()), number(port));
    bool first = true;
    for (const Value& port : ports.items()) {
        const std::string protocol(port["protocol"].text_or("TCP"));
        std::string lower;
        for (const char c : protocol)
            lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        const std::string url = lower + "://" + ip + ":" + number(port);
        const std::string link = prefix + "_PORT_" + number(port) + "_" + protocol;
        if (first) add(prefix + "_PORT", url);
        first = false;
        add(link, url);
        add(link + "_PROTO", lower);
        add(link + "_PORT", number(port));
        add(link + "_ADDR", ip);
    }
}

void Maker::add_services() {
    add_service("kubernetes", api_service_address,
                Value::array({Value::object({{"name", "https"}, {"port", 443}})}));
    if (!pod_["spec"]["enableServiceLinks"].boolean_or(true)) return;
    for (const Value& service : sources_.services) {
        const std::string ip = service["spec"]["clusterIP"].text();
        if (ip.empty() || ip == "None") continue;
        add_service(service["metadata"]["name"].text(), ip, service["spec"]["ports"]);
    }
}

void Maker::add_object(const Value& reference, const char* kind,
                       const std::map<std::string, Value>& known, const std::string& prefix) {
    const std::string name = reference["name"].text();
    const auto found = known.find(name);
    if (found == known.end()) {
        if (!reference["optional"].boolean_or(false))
            fail(std::string(kind) + " \"" + name + "\" not found");
        return;
    }
    for (const auto& [key, entry] : sources_.index.of(found->second)) {
        const std::string variable = prefix + std::string(key);
        count(0);  // Also those that no variable is made of: an object may be named very often.
        if (entry.binary || !environment_name_faults(variable).empty()) continue;
        if (const auto value = entry.bytes())
            add_text(variable, *value, std::string(key) + " of " + kind + " \"" + name + "\"");
    }
}

void Maker::add_text(const std::string& name, const std::string& value, const std::string& origin) {
    if (is_utf8(value) && value.find('\0') == std::string::npos) return add(name, value);
    fail("variable " + name + ": key " + origin +
         " is not text (NUL, or bytes that are not UTF-8); mount it as a file instead");
}

void Maker::add_from_objects() {
    for (const Value& from : container_["envFrom"].items()) {
        const std::string prefix = from["prefix"].text();
        if (from.has("configMapRef"))
            add_object(from["configMapRef"], "configmap", sources_.config_maps, prefix);
        if (from.has("secretRef"))
            add_object(from["secretRef"], "secret", sources_.secrets, prefix);
    }
}

void Maker::add_key(const std::string& name, const Value& reference, const char* kind,
                    const std::map<std::string, Value>& known) {
    const std::string object = reference["name"].text();
    const std::string key = reference["key"].text();
    const auto found = known.find(object);
    const SourceEntry* entry =
        found == known.end() ? nullptr : sources_.index.find(found->second, key);
    const auto value = entry && !entry->binary ? entry->bytes() : std::nullopt;
    if (value) return add_text(name, *value, key + " of " + kind + " \"" + object + "\"");
    if (reference["optional"].boolean_or(false)) return;
    if (found == known.end()) return fail(std::string(kind) + " \"" + object + "\" not found");
    fail("couldn't find key " + key + " in " +
         (std::string(kind) == "secret" ? "Secret " : "ConfigMap ") +
         pod_["metadata"]["namespace"].text() + "/" + object);
}

void Maker::add_each() {
    for (const Value& variable : container_["env"].items()) {
        const std::string name = variable["name"].text();
        const Value& from = variable["valueFrom"];
        if (from.has("configMapKeyRef")) {
            add_key(name, from["configMapKeyRef"], "configmap", sources_.config_maps);
        } else if (from.has("secretKeyRef")) {
            add_key(name, from["secretKeyRef"], "secret", sources_.secrets);
        } else if (from.has("fieldRef")) {
            const std::string path = from["fieldRef"]["fieldPath"].text();
            if (const auto value = field_value(pod_, place_, path))
                add(name, *value);
            else
                fail("fieldRef: " + path + " is not a field that pods can refer to");
        } else if (from.has("resourceFieldRef")) {
            const auto value =
                resource_value(pod_, place_, from["resourceFieldRef"], container_["name"].text());
            if (value)
                add(name, *value);
            else
                fail("resourceFieldRef: no container or resource " +
                     from["resourceFieldRef"]["resource"].text());
        } else {
            add(name, expand(variable["value"].text_or(""), variables, kWordLimit));
        }
    }
}

}  // namespace

Variables::Variables(std::initializer_list<List::value_type> list) {
    for (const auto& [name, value] : list)
        set(name, value);
}

void Variables::set(const std::string& name, std::string value) {
    const auto [place, added] = places_.try_emplace(name, list_.size());
    if (added)
        list_.emplace_back(name, std::move(value));
    else
        list_[place->second].second = std::move(value);
}

const std::string* Variables::find(std::string_view name) const {
    const auto place = places_.find(name);
    return place == places_.end() ? nullptr : &list_[place->second].second;
}

std::string expand(std::string_view text, const Variables& variables, std::size_t limit) {
    std::string out;
    const auto add = [&](std::string_view piece) {
        if (piece.size() > limit - out.size())
            throw Error(Reason::invalid, "\"" + std::string(utf8_prefix(text, kNameShown)) +
                                             "\" with its variables is longer than " +
                                             std::to_string(limit) + " bytes");
        out += piece;
    };
    const std::size_t last = text.rfind(')');  // Behind it no name ends.
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '$' || at + 1 == text.size()) {
            add(text.substr(at, 1));
        } else if (text[at + 1] == '$') {
            add("$");
            ++at;
        } else if (text[at + 1] != '(' || last == std::string_view::npos || last < at) {
            add("$");
        } else {
            const std::size_t end = text.find(')', at);
            const std::string* value = variables.find(text.substr(at + 2, end - at - 2));
            add(value ? std::string_view(*value) : text.substr(at, end - at + 1));
            at = end;
        }
    }
    return out;
}

void Maker::add_command(const ImageMapping& image) {
    command = command_line(container_, image, variables);
    for (const std::string& word : command)
        count(word.size());
}

void Maker::check_paths() {
    count(expand(container_["workingDir"].text_or(""), variables, kPathLimit).size());
    for (const Value& mount : container_["volumeMounts"].items())
        if (mount.has("subPathExpr"))
            count(expand(mount["subPathExpr"].text(), variables, kPathLimit).size());
}

Environment make_environment(const Value& pod, const Value& container, const Sources& sources,
                             const PodPlace& place, const ImageMapping& image) {
    Maker maker(pod, container, sources, place);
    const bool mapped = !image.environment.empty();
    std::string problem;
    try {
        maker.add("PATH", mapped ? image.environment + "/bin:" + kUsualPath : kUsualPath);
        if (mapped) maker.add("VIRTUAL_ENV", image.environment);
        maker.add("HOSTNAME",
                  std::string(pod["spec"]["hostname"].text_or(pod["metadata"]["name"].text())));
        maker.add("HOME", place.home);
        maker.add("LANG", "C.UTF-8");
        for (const auto& [name, value] : image.variables)
            maker.add(name, value);
        if (place.visible_gpus) {
            maker.add("CUDA_VISIBLE_DEVICES", *place.visible_gpus);
            maker.add("NVIDIA_VISIBLE_DEVICES",
                      place.visible_gpus->empty() ? "void" : *place.visible_gpus);
        }
        maker.add_services();
        maker.add_from_objects();
        maker.add_each();
        maker.add_command(image);
        maker.check_paths();
    } catch (const Error& error) {
        problem = error.what();
    }
    return {std::move(maker.variables), std::move(maker.command), std::move(problem)};
}

std::vector<std::string> command_line(const Value& container, const ImageMapping& image,
                                      const Variables& variables) {
    std::vector<std::string> words;
    std::size_t size = 0;
    const auto add = [&](const char* part) {
        for (const Value& word : container[part].items()) {
            words.push_back(expand(word.text_or(""), variables, kWordLimit));
            size += words.back().size();
            if (size > kWordsLimit)
                throw Error(Reason::invalid, "its command is longer than " +
                                                 std::to_string(kWordsLimit) +
                                                 " bytes, which is what Linux lets a program have");
        }
        return !container[part].empty();
    };
    const bool own_command = add("command");
    if (!own_command) words = image.command;
    if (!add("args") && !own_command)
        words.insert(words.end(), image.args.begin(), image.args.end());
    return words;
}

}  // namespace muster::agent
