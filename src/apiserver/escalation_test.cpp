// apiserver/escalation_test.cpp - nobody gets more than they were given: bindings, roles and their
// labels, applies that create, connections that run something; and what the roles for people hold.
#include <doctest/doctest.h>

#include "apiserver/test_server.h"

namespace muster::apiserver {
namespace {

using api::Value;

const std::string rbac = "/apis/rbac.authorization.k8s.io/v1";
const std::string maps = "/api/v1/namespaces/default/configmaps";

std::string binding(const std::string& name, const std::string& kind, const std::string& role,
                    const std::string& user) {
    return R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":)"
           R"({"name":")" +
           name + R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":")" + kind +
           R"(","name":")" + role + R"("},"subjects":[{"kind":"User","apiGroup":)" +
           R"("rbac.authorization.k8s.io","name":")" + user + R"("}]})";
}

std::string cluster_role(const std::string& name, const std::string& rules,
                         const std::string& more = "") {
    return R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":)"
           R"({"name":")" +
           name + "\"" + more + R"(},"rules":[)" + rules + "]}";
}

constexpr const char* all_secrets = R"({"verbs":["get"],"apiGroups":[""],"resources":["secrets"]})";

/// A server on which users speak for themselves.
struct Town : TestServer {
    void grant(const std::string& role, const std::string& to) {
        REQUIRE(post(rbac + "/namespaces/default/rolebindings",
                     binding(to + "-" + role, "ClusterRole", role, to))
                    ->status == 201);
    }
    /// A role of these rules, bound to the user everywhere.
    void give(const std::string& to, const std::string& rules) {
        REQUIRE(post(rbac + "/clusterroles", cluster_role("of-" + to, rules))->status == 201);
        REQUIRE(post(rbac + "/clusterrolebindings",
                     R"({"metadata":{"name":"of-)" + to +
                         R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io",)"
                         R"("kind":"ClusterRole","name":"of-)" +
                         to + R"("},"subjects":[{"kind":"User","name":")" + to + R"("}]})")
                    ->status == 201);
    }
    void become(const std::string& name) {
        user = name;
        groups.clear();
    }
    bool may(const std::string& who, const std::string& verb, const std::string& group,
             const std::string& resource) {
        const std::size_t slash = resource.find('/');
        const std::string part =
            slash == std::string::npos ? "" : R"(","subresource":")" + resource.substr(slash + 1);
        return post("/apis/authorization.k8s.io/v1/subjectaccessreviews",
                    R"({"spec":{"user":")" + who +
                        R"(","resourceAttributes":{"namespace":"default","verb":")" + verb +
                        R"(","group":")" + group + R"(","resource":")" + resource.substr(0, slash) +
                        part + R"("}}})")
            ->json()["status"]["allowed"]
            .boolean_or(false);
    }
};

/// A list of JSON texts "a0" to "a199".
std::string many(const std::string& prefix, int from = 0, int to = 200) {
    std::string list;
    for (int i = from; i < to; ++i)
        list += (list.empty() ? "\"" : ",\"") + prefix + std::to_string(i) + "\"";
    return "[" + list + "]";
}

std::string rule_of(const std::string& verbs, const std::string& groups,
                    const std::string& resources, const std::string& names) {
    return R"({"verbs":)" + verbs + R"(,"apiGroups":)" + groups + R"(,"resources":)" + resources +
           R"(,"resourceNames":)" + names + "}";
}

TEST_CASE("a rule is held against the user's without each of its combinations being looked at") {
    Town town;
    const std::string roles = rbac + "/clusterroles";
    const std::string makes = R"({"verbs":["create"],"apiGroups":["rbac.authorization.k8s.io"],)"
                              R"("resources":["clusterroles"]})";
    // Together they have all; the names are divided between two rules.
    town.give("ann", makes + "," + rule_of(many("v"), many("g"), many("r"), many("n", 0, 120)) +
                         "," + rule_of(R"(["*"])", many("g"), R"(["*"])", many("n", 100, 200)));
    town.become("ann");
    CHECK(town.post(roles, cluster_role("all", rule_of(many("v"), many("g"), many("r"), many("n"))))
              ->status == 201);
    const ReplyPtr more = town.post(
        roles, cluster_role("more", rule_of(many("v"), many("g"), many("r"), many("n", 0, 201))));
    CHECK(more->status == 403);
    CHECK(more->message().find("not currently held:\n{APIGroups:") != std::string::npos);
}

TEST_CASE("a rule that takes too long to compare with the user's is refused in words") {
    Town town;
    std::string rules = R"({"verbs":["create"],"apiGroups":["rbac.authorization.k8s.io"],)"
                        R"("resources":["clusterroles"]})";
    // All but one of each list: the members of each are had by different rules.
    for (int i = 0; i < 200; ++i) {
        const auto but = [i](const char* prefix) {
            std::string list = many(prefix, 0, i);
            list.pop_back();
            const std::string rest = many(prefix, i + 1, 200).substr(1);
            return list + (i > 0 && i < 199 ? "," : "") + rest;
        };
        rules += "," + rule_of(but("v"), but("g"), but("r"), R"(["n"])");
    }
    town.give("ann", rules);
    town.become("ann");
    const ReplyPtr refused =
        town.post(rbac + "/clusterroles",
                  cluster_role("c", rule_of(many("v"), many("g"), many("r"), R"(["n"])")));
    CHECK(refused->status == 403);
    CHECK(refused->message().find("divide them among several roles") != std::string::npos);
}

TEST_CASE("who asks for their rules gets those of a role once, and no more than a mebibyte") {
    Town town;
    const auto rules = [&town] {
        return town
            .post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
                  R"({"spec":{"namespace":"default"}})")
            ->json()["status"];
    };
    town.give("ann", all_secrets);
    town.grant("of-ann", "ann");
    town.give("eve", rule_of(many("v", 0, 60'000), many("g"), many("r"), many("n")) + "," +
                         rule_of(many("v", 0, 60'000), many("g"), many("r"), many("n")));
    town.become("ann");
    int of_secrets = 0;
    const Value of_ann = rules();
    for (const Value& rule : of_ann["resourceRules"].items())
        of_secrets += rule["resources"][0].text() == "secrets" ? 1 : 0;
    CHECK(of_secrets == 1);
    CHECK_FALSE(of_ann["incomplete"].boolean_or(true));
    town.become("eve");
    const Value of_eve = rules();
    CHECK(of_eve["resourceRules"].size() == 1);
    CHECK(of_eve["incomplete"].boolean_or(false));
    CHECK(!of_eve["evaluationError"].text().empty());
}

TEST_CASE("a binding to a role that is not there needs the right to bind it") {
    Town town;
    town.grant("admin", "ann");
    const std::string bindings = rbac + "/namespaces/default/rolebindings";
    town.become("ann");
    const ReplyPtr refused = town.post(bindings, binding("b", "ClusterRole", "to-come", "bob"));
    CHECK(refused->status == 404);
    CHECK(refused->message() == "clusterroles.rbac.authorization.k8s.io \"to-come\" not found");
    CHECK(town.post(bindings, binding("b", "Role", "to-come", "bob"))->message() ==
          "roles.rbac.authorization.k8s.io \"to-come\" not found");
    town.become("system:admin");
    town.groups = {"system:masters"};
    CHECK(town.post(bindings, binding("m", "ClusterRole", "to-come", "bob"))->status == 201);
    town.give("ann", R"({"verbs":["bind"],"apiGroups":["rbac.authorization.k8s.io"],)"
                     R"("resources":["clusterroles"],"resourceNames":["to-come"]})");
    town.become("ann");
    CHECK(town.post(bindings, binding("b", "ClusterRole", "to-come", "bob"))->status == 201);
}

TEST_CASE(
    "labels of a role, which gather it into others, are changed by those who have its rules") {
    Town town;
    town.post(rbac + "/clusterroles", cluster_role("strong", all_secrets));
    town.give("ann", R"({"verbs":["get","create","update","patch"],)"
                     R"("apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"]})");
    town.become("ann");
    const std::string label =
        R"({"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}}})";
    const ReplyPtr refused = town.merge(rbac + "/clusterroles/strong", label);
    CHECK(refused->status == 403);
    CHECK(refused->message().find("is attempting to grant RBAC permissions not currently held") !=
          std::string::npos);
    // An owner, as the garbage collector writes it, gives nobody anything.
    CHECK(town.merge(rbac + "/clusterroles/strong",
                     R"({"metadata":{"finalizers":["example.com/f"]}})")
              ->status == 200);
    const ReplyPtr gathering =
        town.merge(rbac + "/clusterroles/view", R"({"aggregationRule":null})");
    CHECK(gathering->status == 403);
}

TEST_CASE("who may gather anything must have everything") {
    Town town;
    const std::string all_resources = R"({"verbs":["*"],"apiGroups":["*"],"resources":["*"]})";
    town.give("ann", all_resources);
    town.become("ann");
    const ReplyPtr refused =
        town.post(rbac + "/clusterroles",
                  R"({"metadata":{"name":"g"},"aggregationRule":{"clusterRoleSelectors":)"
                  R"([{"matchLabels":{"a":"b"}}]}})");
    // The right to escalate is among all rights.
    CHECK(refused->status == 201);
    town.become("system:admin");
    town.groups = {"system:masters"};
    town.give("bob", R"({"verbs":["create"],"apiGroups":["rbac.authorization.k8s.io"],)"
                     R"("resources":["clusterroles"]})");
    town.become("bob");
    CHECK(town.post(rbac + "/clusterroles",
                    R"({"metadata":{"name":"h"},"aggregationRule":{"clusterRoleSelectors":)"
                    R"([{"matchLabels":{"a":"b"}}]}})")
              ->message() ==
          "clusterroles.rbac.authorization.k8s.io \"h\" is forbidden: must have cluster-admin "
          "privileges to use the aggregationRule");
}

TEST_CASE("a name that is a star is one name") {
    Town town;
    town.give("ann", R"({"verbs":["get"],"apiGroups":[""],"resources":["secrets"],)"
                     R"("resourceNames":["*"]},{"verbs":["create"],)"
                     R"("apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"]})");
    town.become("ann");
    CHECK(town.get("/api/v1/namespaces/default/secrets/s")->status == 403);
    CHECK(town.post(rbac + "/clusterroles",
                    cluster_role("one", R"({"verbs":["get"],"apiGroups":[""],)"
                                        R"("resources":["secrets"],"resourceNames":["s"]})"))
              ->status == 403);
}

TEST_CASE("an apply that creates needs the right to create") {
    Town town;
    town.give("ann", R"({"verbs":["patch","get"],"apiGroups":[""],"resources":["configmaps"]})");
    const std::string body = R"({"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}})";
    town.become("ann");
    const ReplyPtr refused = town.apply(maps + "/made?fieldManager=m", body);
    CHECK(refused->status == 403);
    CHECK(refused->message() ==
          "configmaps \"made\" is forbidden: User \"ann\" cannot create resource \"configmaps\" in "
          "API group \"\" in the namespace \"default\"");
    CHECK(town.apply(maps + "/made?fieldManager=m&dryRun=All", body)->status == 403);
    town.become("system:admin");
    town.groups = {"system:masters"};
    town.post(maps, R"({"metadata":{"name":"made"}})");
    town.become("ann");
    CHECK(town.apply(maps + "/made?fieldManager=m", body)->status == 200);
}

TEST_CASE("to run or reach something in a pod needs the right to create, also by a GET") {
    Town town;
    town.give("ann", R"({"verbs":["get"],"apiGroups":[""],"resources":["pods","pods/exec",)"
                     R"("pods/attach","pods/portforward"]})");
    town.become("ann");
    for (const char* part : {"exec", "attach", "portforward"}) {
        CAPTURE(part);
        const ReplyPtr refused =
            town.get("/api/v1/namespaces/default/pods/p/" + std::string(part) + "?command=id");
        CHECK(refused->status == 403);
        CHECK(refused->message() ==
              "pods \"p\" is forbidden: User \"ann\" cannot create resource "
              "\"pods/" +
                  std::string(part) + "\" in API group \"\" in the namespace \"default\"");
    }
}

TEST_CASE("edit is what users of queues work with, and no more than Kubernetes' own beside it") {
    Town town;
    for (const char* role : {"view", "edit", "admin", "kueue-batch-admin-role"})
        town.grant(role, role);
    for (const auto& [group, resource] :
         {std::pair("", "pods"), std::pair("", "secrets"), std::pair("batch", "jobs"),
          std::pair("ray.io", "rayclusters"), std::pair("ray.io", "rayjobs"),
          std::pair("kubeflow.org", "pytorchjobs"), std::pair("jobset.x-k8s.io", "jobsets"),
          std::pair("workload.codeflare.dev", "appwrappers"),
          std::pair("mcad.ibm.com", "appwrappers"), std::pair("coordination.k8s.io", "leases")}) {
        CAPTURE(resource);
        CHECK(town.may("edit", "create", group, resource));
        CHECK(town.may("admin", "create", group, resource));
        CHECK(!town.may("view", "create", group, resource));
        CHECK((std::string(resource) == "secrets" || std::string(resource) == "leases" ||
               town.may("view", "get", group, resource)));
    }
    for (const auto& [group, resource] :
         {std::pair("kueue.x-k8s.io", "localqueues"), std::pair("kueue.x-k8s.io", "workloads"),
          std::pair("", "resourcequotas"), std::pair("", "limitranges"),
          std::pair("discovery.k8s.io", "endpointslices"), std::pair("", "endpoints")}) {
        CAPTURE(resource);
        CHECK(!town.may("edit", "create", group, resource));
        CHECK(!town.may("admin", "update", group, resource));
        CHECK(town.may("kueue-batch-admin-role", "create", group, resource));
        CHECK(town.may("view", "list", group, resource));
    }
    CHECK(!town.may("edit", "update", "kueue.x-k8s.io", "workloads/status"));
    CHECK(!town.may("edit", "update", "workload.codeflare.dev", "appwrappers/status"));
    CHECK(!town.may("edit", "update", "", "pods/status"));
    CHECK(!town.may("edit", "update", "", "namespaces"));
    CHECK(!town.may("admin", "update", "", "namespaces"));
    CHECK(!town.may("view", "get", "", "secrets"));
    CHECK(town.may("view", "get", "visibility.kueue.x-k8s.io", "localqueues/pendingworkloads"));
    CHECK(town.may("admin", "create", "rbac.authorization.k8s.io", "rolebindings"));
}

TEST_CASE("roles that gather others show what they gather") {
    Town town;
    const Value edit = town.get(rbac + "/clusterroles/edit")->json();
    CHECK(edit["rules"].size() > 30);
    CHECK(edit["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-admin"].text() ==
          "true");
    const Value own = town.get(rbac + "/clusterroles/system:aggregate-to-edit")->json();
    CHECK(own["metadata"]["labels"]["kubernetes.io/bootstrapping"].text() == "rbac-defaults");
    // What stands in it is not what counts: the roles that it selects do.
    town.grant("view", "ann");
    town.merge(rbac + "/clusterroles/view", R"({"rules":[{"verbs":["get"],"apiGroups":[""],)"
                                            R"("resources":["secrets"]}]})");
    CHECK(!town.may("ann", "get", "", "secrets"));
    CHECK(town.may("ann", "get", "", "pods"));
}

}  // namespace
}  // namespace muster::apiserver
