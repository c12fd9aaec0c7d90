// agent/environment_closure_test.cpp - which folders an environment consists of.
#include "agent/environment_closure.h"

#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files.h"

namespace muster::agent {

namespace {

using Paths = std::vector<std::string>;

/// base/ is a Python installation, env/ a virtual environment of it.
struct Ground {
    Ground() {
        char name[] = "/tmp/muster-closure-XXXXXX";
        REQUIRE(::mkdtemp(name));
        top = name;
        ::chmod(name, 0755);
        make_directories(top + "/base/bin");
        write_file(top + "/base/bin/python3.11", "");
        make_directories(packages());
        make_directories(top + "/env/bin");
        write_file(top + "/env/pyvenv.cfg", "home = " + top + "/base/bin\nversion = 3.11\n");
        link(top + "/base/bin/python3.11", "env/bin/python3");
    }
    ~Ground() { std::filesystem::remove_all(top); }
    Ground(const Ground&) = delete;
    Ground& operator=(const Ground&) = delete;

    std::string packages() const { return top + "/env/lib/python3.11/site-packages"; }
    void link(const std::string& to, const std::string& at) const {
        REQUIRE(::symlink(to.c_str(), (top + "/" + at).c_str()) == 0);
    }
    std::string top;
};

}  // namespace

TEST_CASE("a virtual environment needs the Python that it was made with") {
    const Ground ground;
    const EnvironmentClosure closure = environment_closure(ground.top + "/env");
    CHECK(closure.paths == Paths{ground.top + "/env", ground.top + "/base"});
    CHECK(closure.missing == "");
}

TEST_CASE("links of bin/ and lines of .pth files lead to more folders, each once") {
    const Ground ground;
    make_directories(ground.top + "/tool/bin");
    write_file(ground.top + "/tool/bin/ray", "");
    ground.link("../../tool/bin/ray", "env/bin/ray");
    ground.link("python3", "env/bin/python");
    make_directories(ground.top + "/project/src");
    write_file(ground.packages() + "/mine.pth", "# comment\nimport os; os.system('x')\n" +
                                                    ground.top + "/project/src\n/not/there\n.\n" +
                                                    ground.top + "/project/src\n");
    const EnvironmentClosure closure = environment_closure(ground.top + "/env");
    CHECK(closure.paths == Paths{ground.top + "/env", ground.top + "/base", ground.top + "/tool",
                                 ground.top + "/project/src"});
}

TEST_CASE("an environment is shown under the name that was given and under its real one") {
    const Ground ground;
    ground.link("env", "current");
    const EnvironmentClosure closure = environment_closure(ground.top + "/current");
    CHECK(closure.paths ==
          Paths{ground.top + "/env", ground.top + "/base", ground.top + "/current"});
}

TEST_CASE("what is missing, or cannot be read by pods, is named") {
    const Ground ground;
    CHECK(environment_closure(ground.top + "/none").missing == ground.top + "/none is missing");
    std::filesystem::remove_all(ground.top + "/base");
    CHECK(environment_closure(ground.top + "/env").missing == ground.top + "/base is missing");
    ::chmod((ground.top + "/env").c_str(), 0700);
    CHECK(environment_closure(ground.top + "/env").missing.find("chmod -R o+rX") !=
          std::string::npos);
}

TEST_CASE("what every pod sees anyway is no part of it") {
    CHECK(environment_closure("/usr").paths.empty());
    CHECK(environment_closure("/usr/local").paths.empty());
    CHECK(environment_closure("/").paths.empty());
}

}  // namespace muster::agent
