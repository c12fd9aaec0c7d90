// apps/up/up.cpp - puts the parts of `muster up` together, each on its own thread, and takes them
// apart again.
#include "apps/up/up.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include <signal.h>

#include "apiserver/server.h"
#include "apps/up/controllers.h"
#include "apps/up/data_directory.h"
#include "apps/up/machine.h"
#include "apps/up/outside.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "control/runner.h"
#include "kube/in_process_transport.h"
#include "kube/kubeconfig.h"
#include "net/asio_loop.h"
#include "net/secret.h"
#include "net/server.h"
#include "store/rocksdb_journal.h"
#include "store/store.h"

namespace muster::up {
namespace {

/// The address and port of "ADDRESS:PORT", "[::1]:PORT" or "PORT".
struct Listen {
    std::string address = "127.0.0.1";
    int port = 0;
};

Listen parse_listen(const std::string& text) {
    Listen listen;
    std::string_view port = text;
    if (const auto halves = split_last(text, ':')) {
        listen.address = halves->before;
        port = halves->after;
    }
    if (listen.address.starts_with('[') && listen.address.ends_with(']'))
        listen.address = listen.address.substr(1, listen.address.size() - 2);
    const auto number = parse_integer(port);
    if (!number || *number < 0 || *number > 65535 || listen.address.empty())
        throw Error(Reason::bad_request,
                    "--listen " + text + ": give ADDRESS:PORT, such as 127.0.0.1:6443");
    listen.port = static_cast<int>(*number);
    return listen;
}

/// Everything a client may call this server.
net::Subject server_subject(const Listen& listen) {
    net::Subject subject;
    subject.common_name = "muster";
    subject.names = {"localhost",
                     "kubernetes",
                     "kubernetes.default",
                     "kubernetes.default.svc",
                     "kubernetes.default.svc.cluster.local",
                     machine_name()};
    subject.addresses = {"127.0.0.1", "::1", "10.96.0.1"};
    if (listen.address == "0.0.0.0" || listen.address == "::") {
        for (std::string& address : machine_addresses())
            subject.addresses.push_back(std::move(address));
    } else {
        subject.addresses.push_back(listen.address);
    }
    return subject;
}

/// Runs a step on a loop's thread and waits for it.
void run_on(net::AsioLoop& loop, const std::function<void()>& step) {
    std::promise<void> done;
    loop.post([&] {
        step();
        done.set_value();
    });
    done.get_future().wait();
}

/// All parts of a running Muster. Each lives on the loop named in its comment; the loops are last
/// to go.
class Parts {
public:
    Parts(const UpOptions& options, DataDirectory& data);
    ~Parts();
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;

    /// From nothing to serving, nodes included.
    void start();
    /// Ends the pods, then everything else. `end_pods` no: pods are left for the next start.
    enum class Pods { end, leave };
    void stop(Pods pods);

private:
    void make_server(const Listen& listen, const Keys& keys);
    void make_controllers(const Keys& keys);
    void write_kubeconfig(const Listen& listen, const Keys& keys) const;

    const UpOptions& options_;
    DataDirectory& data_;
    net::AsioLoop state_loop_;  // Store and API server.
    net::AsioLoop control_loop_;
    std::unique_ptr<store::Store> store_;
    std::unique_ptr<apiserver::Server> server_;
    std::unique_ptr<net::Server> front_;  // Has threads of its own; requests go to state_loop_.
    std::unique_ptr<kube::InProcessTransport> control_transport_;  // control_loop_
    std::unique_ptr<control::Runner> runner_;                      // control_loop_
    std::unique_ptr<Outside> outside_;                             // control_loop_
    bool started_ = false;
};

Parts::Parts(const UpOptions& options, DataDirectory& data) : options_(options), data_(data) {
    const Listen listen = parse_listen(options.listen);
    const Keys keys = load_keys(data, server_subject(listen), state_loop_.now());
    make_server(listen, keys);
    make_controllers(keys);
    write_kubeconfig(listen, keys);
}

Parts::~Parts() {
    if (started_) stop(Pods::leave);
}

void Parts::make_server(const Listen& listen, const Keys& keys) {
    net::ServerOptions front;
    front.address = listen.address;
    front.port = listen.port;
    front.tls = net::ServerTls{keys.server.certificate_pem, keys.server.key_pem,
                               keys.authority.certificate_pem};
    // The port first: that it is in use is the likeliest failure, and the cheapest to find.
    front_ = std::make_unique<net::Server>(
        std::move(front), state_loop_,
        [this](net::Request request, std::shared_ptr<net::Responder> responder) {
            server_->handle(std::move(request), std::move(responder));
        });
    store_ = std::make_unique<store::Store>(
        std::make_unique<store::RocksdbJournal>(data_.store_path(), state_loop_));
    apiserver::Options options;
    options.random = Random(net::secret_seed());
    options.service_account_key_pem = keys.token_signing_key;
    options.certificate_authority_pem = keys.authority.certificate_pem;
    options.secure_port = front_->port();
    server_ = std::make_unique<apiserver::Server>(*store_, state_loop_, std::move(options));
}

void Parts::make_controllers(const Keys& keys) {
    const net::Handler handler = [this](net::Request request,
                                        std::shared_ptr<net::Responder> responder) {
        server_->handle(std::move(request), std::move(responder));
    };
    control_transport_ = std::make_unique<kube::InProcessTransport>(handler, state_loop_,
                                                                    control_loop_, "controllers");
    runner_ = std::make_unique<control::Runner>(
        *control_transport_, control_loop_,
        [this](const control::Call& call, auto done) { outside_->ask(call, std::move(done)); });
    outside_ = std::make_unique<Outside>(
        control_loop_, nullptr, [this]() -> const kube::Cache& { return runner_->seen(); });
    add_controllers(*runner_, control_loop_, *server_, state_loop_, keys.authority.certificate_pem);
}

void Parts::write_kubeconfig(const Listen& listen, const Keys& keys) const {
    kube::Connection connection;
    const bool any = listen.address == "0.0.0.0" || listen.address == "::";
    const bool six = listen.address.find(':') != std::string::npos && !any;
    const std::string host = any ? "127.0.0.1" : six ? "[" + listen.address + "]" : listen.address;
    connection.server = "https://" + host + ":" + std::to_string(front_->port());
    connection.tls.authority_pem = keys.authority.certificate_pem;
    connection.tls.certificate_pem = keys.admin.certificate_pem;
    connection.tls.key_pem = keys.admin.key_pem;
    const std::string text = kube::kubeconfig_text(connection, "muster", "kubernetes-admin");
    // Also in the data folder, where the other verbs look for it.
    write_secret_file(data_.kubeconfig_path(), text);
    if (!options_.kubeconfig.empty()) write_secret_file(options_.kubeconfig, text);
}

void Parts::start() {
    started_ = true;
    std::promise<void> bootstrapped;
    state_loop_.post(
        [this, &bootstrapped] { server_->bootstrap([&] { bootstrapped.set_value(); }); });
    state_loop_.start("state");
    bootstrapped.get_future().wait();
    control_loop_.start("control");
    control_loop_.post([this] { runner_->start(); });
}

void Parts::stop(Pods pods) {
    started_ = false;
    (void)pods;
    run_on(control_loop_, [this] { runner_->stop(); });
    run_on(state_loop_, [this] { server_->stop(); });
    front_->stop();
    run_on(control_loop_, [this] {
        runner_ = nullptr;
        outside_ = nullptr;
        control_transport_ = nullptr;
    });
    run_on(state_loop_, [this] { server_ = nullptr; });
    control_loop_.stop();
    // The journal writes what is still under way before it goes.
    run_on(state_loop_, [this] { store_ = nullptr; });
    state_loop_.stop();
}

sigset_t ending_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

int wait_for_signal(const sigset_t& signals) {
    int received = 0;
    while (sigwait(&signals, &received) != 0) {
    }
    return received;
}

}  // namespace

int run_up(const UpOptions& options) {
    DataDirectory data(options.data.empty() ? usual_data_directory() : options.data);
    const sigset_t signals = ending_signals();
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    Parts parts(options, data);
    parts.start();
    std::printf("ready\n");
    std::fflush(stdout);
    log_info("up", "serving; stop with Ctrl-C");
    wait_for_signal(signals);
    log_info("up", "stopping: ending pods (a second signal leaves them to the next start)");
    std::thread([signals] {
        wait_for_signal(signals);
        std::_Exit(130);
    }).detach();
    parts.stop(Parts::Pods::end);
    return 0;
}

}  // namespace muster::up
