// agent/environment.cpp - see environment.h.
#include "agent/environment.h"

#include <cctype>

#include "agent/network.h"
#include "base/dns_name.h"
#include "base/text.h"

namespace muster::agent {

namespace {

using api::Value;

constexpr const char* kUsualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string variable_name(const std::string& service) {
    std::string name;
    for (const char c : service)
        name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return name;
}

/// What every pod finds of a service, in the two old styles.
void add_service(Variables& variables, const std::string& name, const std::string& ip,
                 const Value& ports) {
    const std::string prefix = variable_name(name);
    const auto number = [](const Value& port) {
        return std::to_string(port["port"].integer_or(0));
    };
    variables.set(prefix + "_SERVICE_HOST", ip);
    variables.set(prefix + "_SERVICE_PORT", number(ports[0]));
    for (const Value& port : ports.items())
        if (!port["name"].text().empty())
            variables.set(prefix + "_SERVICE_PORT_" + variable_name(port["name"].text()),
                          number(port));
    bool first = true;
    for (const Value& port : ports.items()) {
        const std::string protocol(port["protocol"].text_or("TCP"));
        std::string lower;
        for (const char c : protocol)
            lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        const std::string url = lower + "://" + ip + ":" + number(port);
        const std::string link = prefix + "_PORT_" + number(port) + "_" + protocol;
        if (first) variables.set(prefix + "_PORT", url);
        first = false;
        variables.set(link, url);
        variables.set(link + "_PROTO", lower);
        variables.set(link + "_PORT", number(port));
        variables.set(link + "_ADDR", ip);
    }
}

void add_services(Variables& variables, const Value& pod, const Sources& sources) {
    add_service(variables, "kubernetes", api_service_address,
                Value::array({Value::object({{"name", "https"}, {"port", 443}})}));
    if (!pod["spec"]["enableServiceLinks"].boolean_or(true)) return;
    for (const Value& service : sources.services) {
        const std::string ip = service["spec"]["clusterIP"].text();
        if (ip.empty() || ip == "None") continue;
        add_service(variables, service["metadata"]["name"].text(), ip, service["spec"]["ports"]);
    }
}

/// Fills variables from whole objects, then one by one; stops at the first problem.
class Maker {
public:
    Maker(const Value& pod, const Value& container, const Sources& sources, const PodPlace& place)
        : pod_(pod), container_(container), sources_(sources), place_(place) {}

    void add_from_objects();
    void add_each();
    Environment made;

private:
    void add_object(const Value& reference, const char* kind,
                    const std::map<std::string, Value>& known, const std::string& prefix);
    void add_key(const std::string& name, const Value& reference, const char* kind,
                 const std::map<std::string, Value>& known);
    void add_text(const std::string& name, const std::string& value, const std::string& origin);
    void fail(const std::string& text) {
        if (made.problem.empty()) made.problem = text;
    }

    const Value& pod_;
    const Value& container_;
    const Sources& sources_;
    const PodPlace& place_;
};

void Maker::add_object(const Value& reference, const char* kind,
                       const std::map<std::string, Value>& known, const std::string& prefix) {
    const std::string name = reference["name"].text();
    const auto found = known.find(name);
    if (found == known.end()) {
        if (!reference["optional"].boolean_or(false))
            fail(std::string(kind) + " \"" + name + "\" not found");
        return;
    }
    for (const Value::Member& member : found->second["data"].members()) {
        const std::string variable = prefix + member.key;
        const auto value = bytes_of(found->second, member.value);
        if (value && environment_name_faults(variable).empty())
            add_text(variable, *value, member.key + " of " + kind + " \"" + name + "\"");
    }
}

void Maker::add_text(const std::string& name, const std::string& value, const std::string& origin) {
    if (is_utf8(value) && value.find('\0') == std::string::npos)
        return made.variables.set(name, value);
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
    const bool there = found != known.end() && found->second["data"].has(key);
    const auto value = there ? entry_of(found->second, key) : std::nullopt;
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
                made.variables.set(name, *value);
            else
                fail("fieldRef: " + path + " is not a field that pods can refer to");
        } else if (from.has("resourceFieldRef")) {
            const auto value =
                resource_value(pod_, place_, from["resourceFieldRef"], container_["name"].text());
            if (value)
                made.variables.set(name, *value);
            else
                fail("resourceFieldRef: no container or resource " +
                     from["resourceFieldRef"]["resource"].text());
        } else {
            made.variables.set(name, expand(variable["value"].text_or(""), made.variables));
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

std::string expand(std::string_view text, const Variables& variables) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '$' || at + 1 == text.size()) {
            out += text[at];
        } else if (text[at + 1] == '$') {
            out += '$';
            ++at;
        } else if (text[at + 1] != '(') {
            out += '$';
        } else if (const std::size_t end = text.find(')', at); end == std::string_view::npos) {
            out += '$';
        } else {
            const std::string_view name = text.substr(at + 2, end - at - 2);
            if (const std::string* value = variables.find(name))
                out += *value;
            else
                out.append(text.substr(at, end - at + 1));
            at = end;
        }
    }
    return out;
}

Environment make_environment(const Value& pod, const Value& container, const Sources& sources,
                             const PodPlace& place, const ImageMapping& image) {
    Maker maker(pod, container, sources, place);
    Variables& variables = maker.made.variables;
    const bool mapped = !image.environment.empty();
    variables.set("PATH", mapped ? image.environment + "/bin:" + kUsualPath : kUsualPath);
    if (mapped) variables.set("VIRTUAL_ENV", image.environment);
    variables.set("HOSTNAME",
                  std::string(pod["spec"]["hostname"].text_or(pod["metadata"]["name"].text())));
    variables.set("HOME", place.home);
    variables.set("LANG", "C.UTF-8");
    for (const auto& [name, value] : image.variables)
        variables.set(name, value);
    if (place.visible_gpus) {
        variables.set("CUDA_VISIBLE_DEVICES", *place.visible_gpus);
        variables.set("NVIDIA_VISIBLE_DEVICES",
                      place.visible_gpus->empty() ? "void" : *place.visible_gpus);
    }
    add_services(variables, pod, sources);
    maker.add_from_objects();
    maker.add_each();
    return std::move(maker.made);
}

std::vector<std::string> command_line(const Value& container, const ImageMapping& image,
                                      const Variables& variables) {
    std::vector<std::string> words;
    const auto add = [&](const char* part) {
        for (const Value& word : container[part].items())
            words.push_back(expand(word.text_or(""), variables));
        return !container[part].empty();
    };
    const bool own_command = add("command");
    if (!own_command) words = image.command;
    if (!add("args") && !own_command)
        words.insert(words.end(), image.args.begin(), image.args.end());
    return words;
}

}  // namespace muster::agent
