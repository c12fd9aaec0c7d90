// api/ray/schema_test.cpp - every field that KubeRay publishes is known here with its type, and
// what its schemas forbid is forbidden.
#include "api/schema.h"

#include <string>
#include <variant>

#include <doctest/doctest.h>

#include "api/kind.h"
#include "api/rules.h"
#include "api/yaml.h"

namespace muster::api {
namespace {

/// A cluster in which every published field is set once.
constexpr const char* full_cluster = R"(
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: full, namespace: team}
spec:
  upgradeStrategy: {type: Recreate}
  authOptions: {enableK8sTokenAuth: false, secretName: token, mode: token}
  suspend: false
  managedBy: ray.io/kuberay-operator
  autoscalerOptions:
    resources: {limits: {cpu: 500m, memory: 512Mi}, requests: {cpu: 500m}}
    image: rayproject/ray:2.58.0
    imagePullPolicy: Always
    securityContext: {runAsNonRoot: true}
    idleTimeoutSeconds: 60
    upscalingMode: Conservative
    version: v2
    env: [{name: A, value: b}]
    envFrom: [{configMapRef: {name: c}}]
    volumeMounts: [{name: v, mountPath: /v}]
    command: [ray]
    args: [kuberay-autoscaler]
  headServiceAnnotations: {a: b}
  enableInTreeAutoscaling: true
  gcsFaultToleranceOptions:
    backend: rocksdb
    redisUsername: {value: u}
    redisPassword: {valueFrom: {secretKeyRef: {name: s, key: k}}}
    externalStorageNamespace: ns
    redisAddress: redis:6379
    storage:
      claimName: claim
      size: 1Gi
      storageClassName: fast
      accessModes: [ReadWriteOnce]
      subPath: gcs
      deletionPolicy: Retain
  historyServerOptions:
    collectorOptions:
      image: collector
      imagePullPolicy: IfNotPresent
      resources: {limits: {cpu: 1}}
      env: [{name: A, value: b}]
  networkPolicy:
    mode: DenyAllIngress
    head:
      ingressRules:
      - {from: [{podSelector: {matchLabels: {a: b}}}], ports: [{port: 8265, protocol: TCP}]}
      egressRules: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]
    worker: {ingressRules: [{}]}
    workerGroups: [{groupName: small, egressRules: [{}]}]
  tlsOptions: {enabled: true}
  headGroupSpec:
    template: {spec: {containers: [{name: head, image: rayproject/ray:2.58.0}]}}
    headService: {metadata: {name: svc}, spec: {type: NodePort}}
    enableIngress: true
    ingressOptions:
      host: ray.example.com
      path: /
      pathType: Prefix
      tls: [{hosts: [ray.example.com], secretName: cert}]
    resources: {CPU: "1"}
    labels: {zone: a}
    rayStartParams: {num-cpus: "0"}
    serviceType: ClusterIP
  rayVersion: 2.58.0
  workerGroupSpecs:
  - suspend: false
    groupName: small
    replicas: 1
    minReplicas: 0
    maxReplicas: 3
    idleTimeoutSeconds: 10
    priority: 5
    resources: {GPU: "1"}
    labels: {zone: b}
    rayStartParams: {}
    template: {spec: {containers: [{name: w, image: rayproject/ray:2.58.0}]}}
    scaleStrategy: {workersToDelete: [a]}
    numOfHosts: 2
status:
  state: ready
  desiredCPU: "1"
  desiredMemory: 1G
  desiredGPU: "0"
  desiredTPU: "0"
  lastUpdateTime: 2026-01-01T00:00:00Z
  stateTransitionTimes: {ready: "2026-01-01T00:00:00Z"}
  endpoints: {dashboard: "8265"}
  head: {podIP: 10.0.0.1, serviceIP: 10.0.0.1, podName: p, serviceName: s}
  reason: none
  conditions:
  - {type: HeadPodReady, status: "True", reason: Ok, message: "", lastTransitionTime: 2026-01-01T00:00:00Z}
  readyWorkerReplicas: 1
  availableWorkerReplicas: 1
  desiredWorkerReplicas: 1
  minWorkerReplicas: 0
  maxWorkerReplicas: 3
  observedGeneration: 1
)";

/// A job in which every published field is set once, but for what a cluster has.
constexpr const char* full_job = R"(
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: full, namespace: team}
spec:
  activeDeadlineSeconds: 60
  backoffLimit: 1
  rayClusterSpec:
    headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: head}]}}}
  submitterPodTemplate: {spec: {containers: [{name: s}]}}
  metadata: {who: me}
  clusterSelector: {ray.io/cluster: c}
  submitterConfig: {backoffLimit: 3}
  managedBy: ray.io/kuberay-operator
  deletionStrategy:
    deletionRules:
    - {policy: DeleteWorkers, condition: {jobStatus: SUCCEEDED, ttlSeconds: 5}}
    - {policy: DeleteSelf, condition: {jobDeploymentStatus: Failed}}
  entrypoint: python x.py
  runtimeEnvYAML: "env_vars: {A: b}"
  jobId: id
  submissionMode: HTTPMode
  entrypointResources: '{"A": 1}'
  entrypointNumCpus: 0.5
  entrypointNumGpus: 1
  ttlSecondsAfterFinished: 10
  preRunningDeadlineSeconds: 30
  shutdownAfterJobFinishes: true
  suspend: false
status:
  rayJobInfo: {startTime: 2026-01-01T00:00:00Z, endTime: 2026-01-01T00:00:00Z}
  jobId: id
  rayClusterName: c
  dashboardURL: h:8265
  jobStatus: RUNNING
  jobDeploymentStatus: Running
  reason: AppFailed
  message: m
  startTime: 2026-01-01T00:00:00Z
  endTime: 2026-01-01T00:00:00Z
  succeeded: 1
  failed: 0
  rayClusterStatus: {state: ready}
  jobStatusCheckFailureStartTime: 2026-01-01T00:00:00Z
  observedGeneration: 1
)";

Value yaml(const std::string& text) {
    auto parsed = parse_yaml(text);
    auto* documents = std::get_if<std::vector<Parsed>>(&parsed);
    REQUIRE(documents != nullptr);
    return documents->front().value;
}

std::vector<FieldError> errors_of(const Value& object, const Value* old = nullptr) {
    const Kind* kind = find_kind_named("ray.io", object["kind"].text_or(""));
    REQUIRE(kind != nullptr);
    std::vector<FieldError> errors = validate(*kind->versions.front().schema, object);
    for (const auto& more :
         {broken_rules(*kind->versions.front().schema, object, old), kind->validate(object, old)})
        errors.insert(errors.end(), more.begin(), more.end());
    return errors;
}

std::string told(const std::vector<FieldError>& errors) {
    std::string text;
    for (const FieldError& error : errors)
        text += error.field + ": " + error.text + "\n";
    return text;
}

TEST_CASE("every published field of RayCluster and RayJob is known and accepted") {
    for (const char* text : {full_cluster, full_job}) {
        const Value object = yaml(text);
        const Kind* kind = find_kind_named("ray.io", object["kind"].text_or(""));
        const auto unknown = unknown_fields(*kind->find_version("v1")->schema, object);
        CHECK(unknown == std::vector<std::string>{});
        CHECK(told(errors_of(object)).empty());
    }
}

TEST_CASE("defaults of the published schemas are filled in") {
    Value cluster = yaml(full_cluster);
    Value& group = cluster.at("spec").at("workerGroupSpecs").mutable_items()[0];
    for (const char* field : {"replicas", "minReplicas", "maxReplicas", "numOfHosts", "priority"})
        group.erase(field);
    cluster.at("spec").at("networkPolicy").erase("mode");
    apply_defaults(*find_kind_named("ray.io", "RayCluster")->versions.front().schema, cluster);
    CHECK(group["replicas"].integer_or(-1) == 0);
    CHECK(group["minReplicas"].integer_or(-1) == 0);
    CHECK(group["maxReplicas"].integer_or(-1) == 2147483647);
    CHECK(group["numOfHosts"].integer_or(-1) == 1);
    CHECK(group["priority"].integer_or(-1) == 0);
    CHECK(cluster.path("spec.networkPolicy.mode").text() == "DenyAll");
    Value job = yaml(full_job);
    for (const char* field : {"submissionMode", "ttlSecondsAfterFinished", "backoffLimit"})
        job.at("spec").erase(field);
    apply_defaults(*find_kind_named("ray.io", "RayJob")->versions.front().schema, job);
    CHECK(job["spec"]["submissionMode"].text() == "K8sJobMode");
    CHECK(job["spec"]["ttlSecondsAfterFinished"].integer_or(-1) == 0);
    CHECK(job["spec"]["backoffLimit"].integer_or(-1) == 0);
    CHECK(job.path("spec.deletionStrategy.deletionRules.1.condition.ttlSeconds").integer_or(-1) ==
          0);
}

TEST_CASE("what the published schemas forbid is refused, with the field's name") {
    struct Case {
        const char* path;
        const char* value;
        const char* field;
    };
    const Case cases[] = {
        {"managedBy", "somebody", "spec.managedBy"},
        {"preRunningDeadlineSeconds", "0", "spec.preRunningDeadlineSeconds"},
        {"deletionStrategy", "{onSuccess: {policy: DeleteSelf}}", "spec.deletionStrategy"},
        {"deletionStrategy", "{}", "spec.deletionStrategy"},
        {"deletionStrategy",
         "{onSuccess: {policy: DeleteSelf}, onFailure: {policy: DeleteSelf}, "
         "deletionRules: [{policy: DeleteSelf, condition: {jobStatus: FAILED}}]}",
         "spec.deletionStrategy"},
        {"deletionStrategy", "{deletionRules: []}", "spec.deletionStrategy.deletionRules"},
        {"deletionStrategy",
         "{deletionRules: [{policy: DeleteAll, condition: {jobStatus: FAILED}}]}",
         "spec.deletionStrategy.deletionRules[0].policy"},
        {"deletionStrategy", "{deletionRules: [{policy: DeleteSelf, condition: {ttlSeconds: 1}}]}",
         "spec.deletionStrategy.deletionRules[0].condition"},
        {"deletionStrategy",
         "{deletionRules: [{policy: DeleteSelf, condition: {jobStatus: FAILED, ttlSeconds: -1}}]}",
         "spec.deletionStrategy.deletionRules[0].condition.ttlSeconds"},
    };
    for (const Case& wrong : cases) {
        CAPTURE(wrong.value);
        Value job = yaml(full_job);
        job.at("spec").set(wrong.path, yaml(wrong.value));
        const auto errors = errors_of(job);
        REQUIRE_FALSE(errors.empty());
        CHECK(errors.front().field == wrong.field);
    }
}

TEST_CASE("managedBy and the backend may be set later, but not changed") {
    const Value with = yaml(full_cluster);
    Value without = with;
    without.at("spec").erase("managedBy");
    without.at("spec").at("gcsFaultToleranceOptions").erase("backend");
    CHECK(errors_of(with, &without).empty());
    CHECK(errors_of(without, &with).empty());
    Value other = with;
    other.at("spec").set("managedBy", "kueue.x-k8s.io/multikueue");
    other.at("spec").at("gcsFaultToleranceOptions").set("backend", "redis");
    const auto errors = errors_of(other, &with);
    REQUIRE(errors.size() == 2);
    CHECK(errors[0].field == "spec.managedBy");
    CHECK(errors[1].field == "spec.gcsFaultToleranceOptions.backend");
}

}  // namespace
}  // namespace muster::api
