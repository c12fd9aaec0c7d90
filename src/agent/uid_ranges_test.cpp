// agent/uid_ranges_test.cpp - which ids the pods of a namespace get.
#include "agent/uid_ranges.h"

#include <doctest/doctest.h>

#include "agent/subordinate_ids.h"
#include "api/yaml.h"
#include "base/error.h"

namespace muster::agent {

namespace {

api::Value yaml(const std::string& text) {
    auto parsed = api::parse_yaml(text);
    return std::move(std::get<std::vector<api::Parsed>>(parsed).front().value);
}

const IdSupply kTwoRanges{IdSupply::Kind::ranges, 1'000'000, 2'000'000, 2};
const IdTable::MayTake kAny = [](std::int64_t) { return true; };

IdsWanted ids(std::set<std::int64_t> users) {
    IdsWanted wanted = ids_wanted(yaml("{}"));
    wanted.users.merge(users);
    return wanted;
}

}  // namespace

TEST_CASE("a namespace keeps its range, and no two have the same") {
    IdTable table(kTwoRanges);
    const IdMap first = table.map_for("a", ids({}), {}, kAny);
    const IdMap second = table.map_for("b", ids({}), {}, kAny);
    CHECK(outside_of(first.users, 0) == 1'000'000);
    CHECK(outside_of(first.groups, 0) == 2'000'000);
    CHECK(outside_of(first.users, 65'534) == 1'065'534);
    CHECK(outside_of(first.users, 65'535) == -1);
    CHECK(outside_of(second.users, 0) == 1'065'536);
    CHECK(table.map_for("a", ids({1000}), {}, kAny) == first);
}

TEST_CASE("ids above a range are mapped singly, without meeting another") {
    IdTable table(kTwoRanges);
    const IdMap map = table.map_for("a", ids({1'000'650'000, 70'000, 65'400}), {}, kAny);
    std::set<std::int64_t> outside;
    for (const std::int64_t id : {0L, 65'279L, 65'534L, 65'400L, 70'000L, 1'000'650'000L}) {
        CHECK(outside_of(map.users, id) >= 1'000'000);
        CHECK(outside_of(map.users, id) < 1'065'536);
        outside.insert(outside_of(map.users, id));
    }
    CHECK(outside.size() == 6);
    CHECK(outside_of(map.users, 65'401) == -1);
    // Later pods of the namespace see the same owners.
    const IdMap later = table.map_for("a", ids({70'000}), {}, kAny);
    CHECK(outside_of(later.users, 70'000) == outside_of(map.users, 70'000));
}

TEST_CASE("a range that another Muster holds is left to it") {
    IdTable table(kTwoRanges);
    const auto not_the_first = [](std::int64_t range) { return range != 0; };
    CHECK(outside_of(table.map_for("a", ids({}), {}, not_the_first).users, 0) == 1'065'536);
    CHECK_THROWS_AS(table.map_for("b", ids({}), {"a"}, not_the_first), Error);
}

TEST_CASE("the namespace that was served longest ago gives way, one with pods does not") {
    IdTable table(kTwoRanges);
    table.map_for("a", ids({}), {}, kAny);
    table.map_for("b", ids({}), {}, kAny);
    CHECK(outside_of(table.map_for("c", ids({}), {"a"}, kAny).users, 0) == 1'065'536);
    CHECK(outside_of(table.map_for("a", ids({}), {}, kAny).users, 0) == 1'000'000);
    CHECK_THROWS_AS(table.map_for("d", ids({}), {"a", "c"}, kAny), Error);
}

TEST_CASE("what was given is remembered, and what cannot be is not believed") {
    IdTable table(kTwoRanges);
    const IdMap before = table.map_for("b", ids({70'000}), {}, kAny);
    IdTable again(kTwoRanges);
    again.restore(table.to_value());
    CHECK(again.map_for("b", ids({70'000}), {}, kAny) == before);
    IdTable hostile(kTwoRanges);
    hostile.restore(
        yaml("{kind: ranges, namespaces: {a: {range: 0}, b: {range: 0}, c: {range: 9}, "
             "d: {range: -5}, e: 7}}"));
    std::set<std::int64_t> roots;
    for (const char* ns : {"a", "b"})
        roots.insert(outside_of(hostile.map_for(ns, ids({}), {}, kAny).users, 0));
    CHECK(roots == std::set<std::int64_t>{1'000'000, 1'065'536});
    IdTable other({IdSupply::Kind::singles, 1, 1, 100});
    other.restore(table.to_value());
    CHECK(outside_of(other.map_for("b", ids({}), {}, kAny).users, 0) == 1);
}

TEST_CASE("without root each id that a pod names is taken from the user's one range") {
    IdTable table({IdSupply::Kind::singles, 1, 1, 6});
    const IdMap first = table.map_for("a", ids({1000}), {}, kAny);
    CHECK(first.users == std::vector<IdExtent>{{0, 1, 1}, {1000, 2, 1}, {65'534, 3, 1}});
    const IdMap second = table.map_for("b", ids({}), {}, kAny);
    CHECK(outside_of(second.users, 0) == 4);
    CHECK(outside_of(second.groups, 0) == 3);
    CHECK_THROWS_AS(table.map_for("b", ids({1, 2, 3}), {"a"}, kAny), Error);
    CHECK(map_text(first.users) == "0 1 1\n1000 2 1\n65534 3 1\n");
}

TEST_CASE("no namespace takes the ids of all, and no pod hundreds of them") {
    IdTable table({IdSupply::Kind::singles, 1, 1, 65'535});
    const auto pod = [](std::int64_t first, std::int64_t count) {
        IdsWanted wanted{{0, 65'534}, {0, 65'534}};
        for (std::int64_t id = first; id < first + count; ++id)
            wanted.groups.insert(id);
        return wanted;
    };
    CHECK_THROWS_WITH_AS(table.map_for("greedy", pod(1000, 601), {}, {}),
                         "the pod names more than 600 different users and groups; name fewer "
                         "supplementalGroups",
                         Error);
    for (int i = 0; i < 8; ++i)
        CHECK(table.map_for("greedy", pod(1000 + i * 500, 500), {"greedy"}, {}).groups.size() >= 2);
    CHECK_THROWS_WITH_AS(table.map_for("greedy", pod(9000, 500), {"greedy"}, {}),
                         "the pods of this namespace would have 4502 different users or groups; a "
                         "namespace may have 4095 of the 65535 that Muster's user has in "
                         "/etc/subuid",
                         Error);
    // The namespace keeps the ids that it has, and others find theirs.
    CHECK(outside_of(table.map_for("greedy", pod(1000, 10), {"greedy"}, {}).groups, 1000) > 0);
    CHECK(outside_of(table.map_for("other", pod(1000, 500), {"greedy"}, {}).groups, 1499) > 0);
    // When its pods are gone it may name other ones.
    CHECK(outside_of(table.map_for("greedy", pod(9000, 500), {}, {}).groups, 9499) > 0);
    IdTable root(ranges_of_root());
    const auto all = [](std::int64_t) { return true; };
    CHECK_NOTHROW(root.map_for("greedy", pod(1'000'000, 200), {}, all));
    CHECK_THROWS_AS(root.map_for("greedy", pod(2'000'000, 200), {"greedy"}, all), Error);
    CHECK(outside_of(root.map_for("greedy", pod(2'000'000, 200), {}, all).groups, 2'000'199) > 0);
}

TEST_CASE("a pod names ids in all its security contexts") {
    const IdsWanted wanted = ids_wanted(
        yaml("{spec: {securityContext: {runAsUser: 5, fsGroup: 7, supplementalGroups: [8, -1]}, "
             "containers: [{securityContext: {runAsUser: 99999999999, runAsGroup: 9}}], "
             "initContainers: [{securityContext: {runAsNonRoot: true}}]}}"));
    CHECK(wanted.users == std::set<std::int64_t>{0, 5, 1000, 65'534});
    CHECK(wanted.groups == std::set<std::int64_t>{0, 7, 8, 9, 65'534});
    CHECK(ids_wanted_of(to_value(wanted)).groups == wanted.groups);
    const IdMap map{{{0, 5, 2}}, {{0, 7, 1}}};
    CHECK(id_map_of(to_value(map)) == map);
}

TEST_CASE("root's ranges are nobody else's") {
    const IdSupply supply = ranges_of_root();
    CHECK(supply.first_user > 600'100'000);                          // useradd
    CHECK(supply.first_user > 0x6FFFFFFF);                           // systemd-nspawn
    CHECK(supply.first_user + supply.count * 65'536 <= 0x7FFE0000);  // systemd's foreign ids
}

TEST_CASE("the longest range that /etc/subuid gives a user counts") {
    const std::string text =
        "# comment\nroot:100000:65536\nann:200000:70000\nann:300000:100\n1001:400000:65536\n"
        "bad:x:y\nbad:-5:65536\nbad:4294967290:65536\nbad:5\nbad:10:3\n";
    CHECK(subordinate_range(text, "ann", 7) == SubordinateRange{200'000, 65'536});
    CHECK(subordinate_range(text, "eve", 1001) == SubordinateRange{400'000, 65'536});
    CHECK_FALSE(subordinate_range(text, "bad", 7));
    CHECK_FALSE(subordinate_range("", "ann", 7));
}

}  // namespace muster::agent
