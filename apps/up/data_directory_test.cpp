// apps/up/data_directory_test.cpp - whose a data folder is, who has it, and the keys in it.
#include "apps/up/data_directory.h"

#include <cstdlib>
#include <filesystem>
#include <optional>

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
