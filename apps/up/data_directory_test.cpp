// apps/up/data_directory_test.cpp - whose a data folder is, who has it, and the keys in it.
#include "apps/up/data_directory.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace muster::up {
namespace {

/// A folder that goes with the test.
struct Scratch {
    Scratch() {
        char name[] = "/tmp/muster-data-XXXXXX";
        path = mkdtemp(name);
    }
    ~Scratch() { std::filesystem::remove_all(path); }
    std::string path;
};

std::string problem_of(const std::string& path) {
    try {
        const DataDirectory data(path);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

unsigned mode_of(const std::string& path) {
    struct stat info {};
    stat(path.c_str(), &info);
    return info.st_mode & 0777;
}

}  // namespace

TEST_CASE("a data folder is made for its owner, had by one at a time, and found again") {
    const Scratch scratch;
    const std::string path = scratch.path + "/state";
    {
        const DataDirectory data(path);
        CHECK(mode_of(path) == 0700);
        CHECK(problem_of(path).find("in use by another Muster") != std::string::npos);
    }
    CHECK(problem_of(path).empty());
}

TEST_CASE("root takes no folder that somebody else could exchange") {
    if (geteuid() != 0) return;  // Nobody else can give folders away.
    constexpr uid_t nobody = 65534;
    const Scratch scratch;
    const std::string theirs = scratch.path + "/theirs";
    std::filesystem::create_directory(theirs);
    REQUIRE(chown(theirs.c_str(), nobody, nobody) == 0);
    CHECK(problem_of(theirs).find(theirs + " belongs to user 65534") != std::string::npos);
    CHECK(problem_of(theirs + "/below").find("belongs to user 65534") != std::string::npos);
    CHECK(!std::filesystem::exists(theirs + "/below"));
    std::filesystem::create_directory_symlink(theirs, scratch.path + "/link");
    CHECK(problem_of(scratch.path + "/link/below").find("belongs to user 65534") !=
          std::string::npos);
    const std::string open = scratch.path + "/open";
    std::filesystem::create_directory(open);
    chmod(open.c_str(), 0777);
    CHECK(problem_of(open + "/state").find("others may write to " + open) != std::string::npos);
    chmod(open.c_str(), 01777);  // As /tmp: nobody takes away what is another's.
    CHECK(problem_of(open + "/state").empty());
}

TEST_CASE("another program's folder is refused and left as it was") {
    const Scratch scratch;
    std::filesystem::create_directory(scratch.path + "/theirs");
    chmod(scratch.path.c_str(), 0755);
    CHECK(problem_of(scratch.path).find("not a data folder of Muster") != std::string::npos);
    CHECK(mode_of(scratch.path) == 0755);
    CHECK(std::filesystem::exists(scratch.path + "/theirs"));
    write_secret_file(scratch.path + "/file", "x");
    CHECK(problem_of(scratch.path + "/file").find("cannot") != std::string::npos);
}

namespace {

/// The sentence that refuses a start; empty when Muster may start.
std::string keys_problem(const DataDirectory& data) {
    try {
        load_keys(data, {}, Time{1'790'000'000'000'000'000});
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

bool says(const std::string& sentence, std::string_view words) {
    return sentence.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("half an authority is not replaced by a new one, nor a signing key that is none") {
    namespace fs = std::filesystem;
    const Scratch scratch;
    const DataDirectory data(scratch.path + "/state");
    const std::string pki = data.path() + "/pki";
    REQUIRE(keys_problem(data).empty());
    const std::string authority = read_file(pki + "/ca.crt");
    for (const std::string name : {"ca.key", "ca.crt"}) {
        fs::rename(pki + "/" + name, pki + "/away");
        CHECK(says(keys_problem(data), pki + " is damaged: " + name + " is missing; restore"));
        write_secret_file(pki + "/" + name, "");
        CHECK(says(keys_problem(data), pki + " is damaged; restore ca.crt and ca.key"));
        fs::remove(pki + "/" + name);
        fs::create_symlink(name, pki + "/" + name);
        CHECK(says(keys_problem(data), name + ": Too many levels of symbolic links"));
        fs::remove(pki + "/" + name);
        fs::rename(pki + "/away", pki + "/" + name);
    }
    const std::string signing = pki + "/service-accounts.key";
    fs::rename(signing, pki + "/away");
    for (const std::string& text :
         {std::string(), std::string("junk"), read_file(pki + "/ca.crt")}) {
        write_secret_file(signing, text);
        CHECK(says(keys_problem(data), signing + " is damaged: it is no private EC P-256 key"));
    }
    fs::rename(pki + "/away", signing);
    CHECK(keys_problem(data).empty());
    CHECK(read_file(pki + "/ca.crt") == authority);
    // Both are gone on purpose, or a start was ended before it signed anything.
    fs::remove(pki + "/ca.crt");
    fs::remove(pki + "/ca.key");
    CHECK(keys_problem(data).empty());
    CHECK(read_file(pki + "/ca.crt") != authority);
    for (const char* name : {"ca.crt", "server.crt", "admin.crt"})
        fs::remove(pki + "/" + name);
    CHECK(keys_problem(data).empty());
}

TEST_CASE("what is no file is named, and nothing waits for it") {
    const Scratch scratch;
    std::optional<DataDirectory> data(scratch.path + "/state");
    REQUIRE(keys_problem(*data).empty());
    const std::string folder = data->path();
    for (const char* name : {"/pki/ca.crt", "/pki/server.key", "/pki/service-accounts.key"}) {
        const std::string path = folder + name;
        std::filesystem::rename(path, folder + "/away");
        REQUIRE(mkfifo(path.c_str(), 0600) == 0);
        CHECK(keys_problem(*data) == "cannot read " + path + ": it is a named pipe, not a file");
        std::filesystem::rename(folder + "/away", path);
    }
    data.reset();
    for (const char* name : {"/muster-data", "/lock"}) {
        std::filesystem::rename(folder + name, folder + "/away");
        std::filesystem::create_symlink("/dev/zero", folder + name);
        CHECK(says(problem_of(folder), "it is a device, not a file"));
        std::filesystem::remove(folder + name);
        std::filesystem::create_directory(folder + name);
        CHECK(says(problem_of(folder), "it is a folder, not a file"));
        std::filesystem::remove(folder + name);
        std::filesystem::rename(folder + "/away", folder + name);
    }
    CHECK(problem_of(folder).empty());
}

TEST_CASE("a folder that was used and has lost its store is told from a new one") {
    namespace fs = std::filesystem;
    const Scratch scratch;
    const std::string folder = scratch.path + "/state";
    CHECK(explain_lost_store(folder).empty());
    CHECK(explain_lost_store(scratch.path).empty());
    const DataDirectory data(folder);
    CHECK(explain_lost_store(folder).empty());
    REQUIRE(keys_problem(data).empty());
    CHECK(explain_lost_store(folder).empty());  // A start that was ended here is not lost.
    fs::remove(data.store_path());
    const std::string missing = explain_lost_store(folder);
    CHECK(says(missing, "its objects are lost, as " + data.store_path() + " is missing; restore"));
    CHECK(says(missing, "`muster store repair --accept-loss --data " + folder + "`"));
    fs::create_directory(data.store_path());
    write_secret_file(data.kubeconfig_path(), "x");  // It is written once the store is there.
    CHECK(says(explain_lost_store(folder), data.store_path() + " is empty; restore"));
    write_secret_file(data.store_path() + "/000004.log", "x");
    CHECK(explain_lost_store(folder).empty());  // Damaged, which the store itself says.
}

TEST_CASE("keys are kept, and only the server's are made anew when it gets another name") {
    const Scratch scratch;
    const DataDirectory data(scratch.path + "/state");
    constexpr Time now{1'790'000'000'000'000'000};
    net::Subject server;
    server.common_name = "muster";
    server.addresses = {"127.0.0.1"};
    const Keys first = load_keys(data, server, now);
    CHECK(mode_of(data.path() + "/pki/ca.key") == 0600);
    const Keys again = load_keys(data, server, now);
    CHECK(again.server.certificate_pem == first.server.certificate_pem);
    CHECK(again.admin.certificate_pem == first.admin.certificate_pem);
    CHECK(again.token_signing_key == first.token_signing_key);
    server.addresses.emplace_back("10.0.0.1");
    const Keys renamed = load_keys(data, server, now);
    CHECK(renamed.authority.certificate_pem == first.authority.certificate_pem);
    CHECK(renamed.server.certificate_pem != first.server.certificate_pem);
    const Keys later = load_keys(data, server, now + hours(24 * 300));
    CHECK(later.admin.certificate_pem != first.admin.certificate_pem);
}

}  // namespace muster::up
