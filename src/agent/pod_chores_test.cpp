// agent/pod_chores_test.cpp - the holder's work with the files of pods.
#include "agent/pod_chores.h"

#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files.h"
#include "base/error.h"

namespace muster::agent {
namespace {

/// A pod's folder, removed at the end.
struct PodFolder {
    std::string path;

    PodFolder() {
        char name[] = "/tmp/muster-pod-chores-XXXXXX";
        REQUIRE(::mkdtemp(name) != nullptr);
        path = name;
        make_directories(path + "/incoming");
    }
    ~PodFolder() { remove_tree(path); }
    PodFolder(const PodFolder&) = delete;
    PodFolder& operator=(const PodFolder&) = delete;

    void fill(const IdMap& ids) {
        write_file(path + "/incoming/list.json",
                   R"({"folders":[{"path":"volumes","mode":493},)"
                   R"({"path":"volumes/data","mode":511}],"files":[]})");
        fill_pod(path, ids);
    }
    bool has(const std::string& name) const {
        return ::access((path + "/" + name).c_str(), F_OK) == 0;
    }
    uid_t owner(const std::string& name) const {
        struct stat status {};
        REQUIRE(::lstat((path + "/" + name).c_str(), &status) == 0);
        return status.st_uid;
    }
};

IdMap range(std::int64_t first) {
    return {{{0, first, 65'536}}, {{0, first, 65'536}}};
}

TEST_CASE("a volume that belonged to other users is emptied, one of the pod's own is kept") {
    if (::geteuid() != 0) {
        MESSAGE("not tried: only root gives files away");
        return;
    }
    PodFolder pod;
    pod.fill(range(600'000'000));
    write_file(pod.path + "/volumes/data/kept", "1");
    REQUIRE(::chown((pod.path + "/volumes/data").c_str(), 600'001'000, 600'001'000) == 0);
    pod.fill(range(600'000'000));
    CHECK(pod.has("volumes/data/kept"));  // A user of the pod had it: 1000.
    CHECK(pod.owner("volumes/data") == 600'000'000);
    pod.fill(range(700'000'000));
    CHECK_FALSE(pod.has("volumes/data/kept"));
    CHECK(pod.owner("volumes/data") == 700'000'000);
}

TEST_CASE("pods without users of their own keep what they find") {
    PodFolder pod;
    pod.fill({});
    write_file(pod.path + "/volumes/data/kept", "1");
    pod.fill({});
    CHECK(pod.has("volumes/data/kept"));
}

TEST_CASE("what can be removed is removed, and what cannot is told") {
    PodFolder pod;
    pod.fill({});
    write_file(pod.path + "/volumes/data/a", "1");
    const std::vector<std::string_view> paths = {"volumes/..", "volumes/data", "gone/away"};
    CHECK_THROWS_WITH_AS(remove_all_beneath(pod.path, paths),
                         "\"volumes/..\" is nothing that can be removed", Error);
    CHECK_FALSE(pod.has("volumes/data"));
    CHECK(pod.has("volumes"));
}

TEST_CASE("files are counted with the bytes of a pod") {
    PodFolder pod;
    pod.fill({});
    for (const char* name : {"a", "b", "c"})
        write_file(pod.path + "/volumes/data/" + name, "");
    CHECK(pod_disk_use(pod.path, 0)["files"].integer_or(0) == 4);  // With their folder.
}

TEST_CASE("a removal tells how much is gone") {
    PodFolder pod;
    make_directories(pod.path + "/volumes/data/deep");
    for (int i = 0; i < 200; ++i)
        write_file(pod.path + "/volumes/data/deep/" + std::to_string(i), "1");
    REQUIRE(::link((pod.path + "/volumes/data/deep/0").c_str(), (pod.path + "/kept").c_str()) == 0);
    struct stat file {};
    REQUIRE(::stat((pod.path + "/kept").c_str(), &file) == 0);
    std::vector<std::string> told;
    RemovalTeller teller([&told](const std::string& word) { told.push_back(word); });
    std::int64_t bytes = 0;
    remove_all_beneath(pod.path, {"volumes", "missing"}, [&](std::int64_t each) {
        bytes += each;
        teller.count(each);
    });
    teller.tell();
    CHECK_FALSE(pod.has("volumes"));
    // The file with another name still takes its space.
    CHECK(bytes >= std::int64_t{file.st_blocks} * 512 * 199);
    CHECK(told.back() == "going 203 " + std::to_string(bytes));
    CHECK(told.size() <= 3);
}

}  // namespace
}  // namespace muster::agent
