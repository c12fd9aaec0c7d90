// kube/kubeconfig.cpp - reads and writes kubeconfig files.
#include "kube/kubeconfig.h"

#include <variant>

#include "api/yaml.h"
#include "base/error.h"
#include "base/text.h"

namespace muster::kube {
namespace {

using api::Value;
/// Such a file holds a few hundred bytes; certificates make it larger, but not by so much.
constexpr std::size_t file_max = 16 << 20;

[[noreturn]] void refuse(const std::string& text) {
    throw Error(Reason::invalid, text);
}

/// A parsed file and the folder that its relative paths start from.
struct Source {
    Value value;
    std::string path;
    std::string folder;
};

std::vector<Source> parse(const std::vector<KubeconfigFile>& files) {
    std::vector<Source> sources;
    for (const KubeconfigFile& file : files) {
        if (file.text.size() > file_max)
            refuse("the kubeconfig " + file.path + " is larger than 16 MiB");
        auto parsed = api::parse_yaml(file.text);
        if (const auto* error = std::get_if<api::ParseError>(&parsed))
            refuse("the kubeconfig " + file.path + " is not valid YAML: " + error->text);
        auto& documents = std::get<std::vector<api::Parsed>>(parsed);
        const std::size_t slash = file.path.rfind('/');
        const std::string folder = slash == std::string::npos ? "" : file.path.substr(0, slash + 1);
        for (api::Parsed& document : documents)
            sources.push_back({std::move(document.value), file.path, folder});
    }
    return sources;
}

/// The first entry of a list ("clusters") with this name, and where it stood.
struct Found {
    const Value* value = nullptr;
    const Source* source = nullptr;
};

Found find_named(const std::vector<Source>& sources, const char* list, const char* member,
                 const std::string& name) {
    for (const Source& source : sources) {
        for (const Value& entry : source.value[list].items()) {
            if (entry["name"].text_or("") == name) return {&entry[member], &source};
        }
    }
    return {};
}

Found require_named(const std::vector<Source>& sources, const char* list, const char* member,
                    const std::string& name) {
    const Found found = find_named(sources, list, member, name);
    if (!found.value)
        refuse("the kubeconfig has no " + std::string(member) + " named \"" + name + "\"");
    return found;
}

std::string place_of(const Found& in, const std::string& path) {
    return path.starts_with('/') ? path : in.source->folder + path;
}

/// The file named by "X"; empty when none is, or when there is inline data, which goes first.
std::string path_of(const Found& in, const std::string& key) {
    const Value& entry = *in.value;
    const std::string path = entry[key].text();
    if (path.empty() || !entry[key + "-data"].text().empty()) return "";
    return place_of(in, path);
}

/// Inline data ("X-data", base64) or the content of the file named by "X".
std::string pem_of(const Found& in, const std::string& key, const ReadFile& read) {
    const Value& entry = *in.value;
    if (const Value& data = entry[key + "-data"]; data.is_string() && !data.as_string().empty()) {
        const auto bytes = from_base64(data.as_string());
        if (!bytes) refuse(in.source->path + ": " + key + "-data is not base64");
        return *bytes;
    }
    const std::string path = entry[key].text();
    if (path.empty()) return "";
    return read(place_of(in, path));
}

/// How the content of files and programs is had.
struct Rim {
    const ReadFile& read;
    const RunPlugin& run;
};

/// What a plugin is told of the cluster when it asks to be.
Value cluster_of(const Connection& connection) {
    Value cluster = Value::object({{"server", connection.server}});
    if (!connection.tls.server_name.empty())
        cluster.set("tls-server-name", connection.tls.server_name);
    if (connection.tls.verify == net::ClientTls::Verify::no)
        cluster.set("insecure-skip-tls-verify", true);
    if (!connection.tls.authority_pem.empty())
        cluster.set("certificate-authority-data", to_base64(connection.tls.authority_pem));
    return cluster;
}

void use_plugin(const Found& user, const Rim& rim, Connection& connection) {
    const Value& exec = (*user.value)["exec"];
    ExecPlugin plugin = read_exec_plugin(exec, user.source->folder);
    if (!rim.run)
        refuse(user.source->path + ": the credential plugin " + plugin.command +
               " cannot be run here; use a token or a client certificate");
    if (exec["provideClusterInfo"].boolean_or(false)) plugin.cluster = cluster_of(connection);
    connection.credentials =
        std::make_shared<Credentials>(plugin_credentials(std::move(plugin), rim.run));
}

Impersonation read_impersonation(const Value& user) {
    Impersonation whom;
    whom.user = user["as"].text();
    whom.uid = user["as-uid"].text();
    for (const Value& group : user["as-groups"].items())
        whom.groups.push_back(group.text());
    for (const auto& [name, values] : user["as-user-extra"].members()) {
        for (const Value& value : values.items())
            whom.extra.emplace_back(name, value.text());
    }
    return whom;
}

/// As in client-go: a certificate goes with anything; of the tokens a file's is first, then a
/// written one, then a plugin's. What is in files is read again as long as it is used.
void read_user(const Found& user, const Rim& rim, Connection& connection) {
    const Value& entry = *user.value;
    for (const char* other : {"auth-provider", "username"}) {
        if (entry.has(other))
            refuse(user.source->path + ": users with \"" + other +
                   "\" are not supported; use exec, a token or a client certificate");
    }
    connection.tls.certificate_pem = pem_of(user, "client-certificate", rim.read);
    connection.tls.key_pem = pem_of(user, "client-key", rim.read);
    if (!connection.tls.certificate_pem.empty() && connection.tls.key_pem.empty())
        refuse(user.source->path +
               ": client-key-data or client-key must be specified beside a client certificate");
    connection.token = entry["token"].text();
    connection.impersonate = read_impersonation(entry);
    CredentialFiles files;
    files.token = path_of(user, "tokenFile");
    files.certificate = path_of(user, "client-certificate");
    files.key = path_of(user, "client-key");
    // It is read before it is needed, so that a wrong path is said at once.
    if (!files.token.empty()) connection.token = trim(rim.read(files.token));
    if (files.token.empty() && connection.token.empty() && entry["exec"].is_object())
        return use_plugin(user, rim, connection);
    if (files.token.empty() && files.certificate.empty() && files.key.empty()) return;
    Credential written;
    written.token = connection.token;
    written.certificate_pem = connection.tls.certificate_pem;
    written.key_pem = connection.tls.key_pem;
    connection.credentials = std::make_shared<Credentials>(
        file_credentials(std::move(files), std::move(written), rim.read));
}

void read_cluster(const Found& cluster, const ReadFile& read, Connection& connection) {
    const Value& entry = *cluster.value;
    if (const std::string proxy = entry["proxy-url"].text(); !proxy.empty())
        refuse(cluster.source->path + ": the cluster is behind the proxy " + proxy +
               " (proxy-url), which is not supported; give an address that is reached directly");
    connection.server = entry["server"].text();
    connection.tls.authority_pem = pem_of(cluster, "certificate-authority", read);
    connection.tls.server_name = entry["tls-server-name"].text();
    if (entry["insecure-skip-tls-verify"].boolean_or(false))
        connection.tls.verify = net::ClientTls::Verify::no;
}

}  // namespace

Connection connection_of(const std::vector<KubeconfigFile>& files, const KubeconfigChoice& choice,
                         const ReadFile& read, const RunPlugin& run) {
    const std::vector<Source> sources = parse(files);
    std::string name = choice.context;
    for (const Source& source : sources) {
        if (name.empty()) name = source.value["current-context"].text();
    }
    Connection connection;
    std::string cluster = choice.cluster;
    std::string user = choice.user;
    if (!name.empty()) {
        const Value& context = *require_named(sources, "contexts", "context", name).value;
        if (cluster.empty()) cluster = context["cluster"].text();
        if (user.empty()) user = context["user"].text();
        if (const auto ns = context["namespace"].text_or(""); !ns.empty())
            connection.default_namespace = ns;
    } else if (choice.server.empty()) {
        refuse("no context is chosen: the kubeconfig has no current-context");
    }
    if (!cluster.empty())
        read_cluster(require_named(sources, "clusters", "cluster", cluster), read, connection);
    if (!user.empty())
        read_user(require_named(sources, "users", "user", user), {read, run}, connection);
    if (!choice.server.empty()) connection.server = choice.server;
    if (!choice.token.empty()) {
        connection.token = choice.token;
        connection.credentials = nullptr;
    }
    Impersonation& whom = connection.impersonate;
    if (!choice.impersonate.empty()) whom.user = choice.impersonate;
    const bool says_more = !whom.uid.empty() || !whom.groups.empty() || !whom.extra.empty();
    if (whom.user.empty() && says_more)
        refuse("requesting uid, groups or user-extra for " + user +
               " without impersonating a user");
    return connection;
}

std::optional<Connection> in_cluster_connection(
    const std::function<std::string(const std::string& name)>& variable, const ReadFile& read) {
    const std::string host = variable("KUBERNETES_SERVICE_HOST");
    const std::string port = variable("KUBERNETES_SERVICE_PORT");
    if (host.empty() || port.empty()) return std::nullopt;
    const std::string account = "/var/run/secrets/kubernetes.io/serviceaccount/";
    Connection connection;
    const bool six = host.find(':') != std::string::npos;
    connection.server = "https://" + (six ? "[" + host + "]" : host) + ":" + port;
    connection.tls.authority_pem = read(account + "ca.crt");
    connection.token = trim(read(account + "token"));
    connection.credentials =
        std::make_shared<Credentials>(token_file_credentials(account + "token", read));
    const std::string ns(trim(read(account + "namespace")));
    if (!ns.empty()) connection.default_namespace = ns;
    return connection;
}

std::string kubeconfig_text(const Connection& connection, const std::string& name,
                            const std::string& user) {
    Value cluster = Value::object({{"server", connection.server}});
    if (!connection.tls.authority_pem.empty())
        cluster.set("certificate-authority-data", to_base64(connection.tls.authority_pem));
    Value credentials = Value::object();
    if (!connection.tls.certificate_pem.empty()) {
        credentials.set("client-certificate-data", to_base64(connection.tls.certificate_pem));
        credentials.set("client-key-data", to_base64(connection.tls.key_pem));
    }
    if (!connection.token.empty()) credentials.set("token", connection.token);
    Value context = Value::object(
        {{"cluster", name}, {"user", user}, {"namespace", connection.default_namespace}});
    Value clusters = Value::array({Value::object({{"name", name}, {"cluster", cluster}})});
    Value users = Value::array({Value::object({{"name", user}, {"user", credentials}})});
    Value contexts = Value::array({Value::object({{"name", name}, {"context", context}})});
    return api::to_yaml(Value::object({{"apiVersion", "v1"},
                                       {"kind", "Config"},
                                       {"clusters", clusters},
                                       {"contexts", contexts},
                                       {"current-context", name},
                                       {"preferences", Value::object()},
                                       {"users", users}}));
}

}  // namespace muster::kube
