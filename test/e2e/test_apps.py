# test/e2e/test_apps.py - Deployments and StatefulSets on the real program.
import pytest

from conftest import both
from test_queues import condition

TEMPLATE = """
  template:
    metadata: {labels: {app: NAME}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: busybox
        command: ["sh", "-c", "echo VERSION; exec sleep 600"]
"""


def deployment(version: str, replicas: int = 3) -> str:
    return f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web}}}}
""" + TEMPLATE.replace("NAME", "web").replace("VERSION", version)


def all_of(muster, version: str, count: int) -> bool:
    """All pods of the Deployment run that version, and nothing else is left."""
    pods = muster.get("pods", "-l", "app=web").get("items", [])
    logs = [muster.run("logs", p["metadata"]["name"], check=False).stdout.strip() for p in pods]
    return logs == [version] * count


@both
def test_a_deployment_rolls_out_scales_and_goes_with_its_pods(muster):
    muster.apply(deployment("one"))
    muster.until("available", lambda: condition(muster.get("deployment", "web"), "Available").get("status") == "True")
    muster.until("three pods of version one", lambda: all_of(muster, "one", 3))
    muster.apply(deployment("two"))
    muster.until("three pods of version two", lambda: all_of(muster, "two", 3))
    progress = muster.until("the update is done", lambda: (lambda c: c.get("reason") == "NewReplicaSetAvailable" and c)(
        condition(muster.get("deployment", "web"), "Progressing")))
    assert "has successfully progressed" in progress["message"]
    muster.run("scale", "deployment/web", "--replicas=1")
    muster.until("one pod", lambda: all_of(muster, "two", 1))
    pod = muster.get("pods", "-l", "app=web")["items"][0]["metadata"]["name"]
    muster.run("delete", "pod", pod)
    muster.until("another takes its place", lambda: all_of(muster, "two", 1) and muster.get("pod", pod) == {})
    muster.run("delete", "deployment", "web")
    muster.until("nothing is left", lambda: not muster.get("pods").get("items") and not muster.get("rs").get("items"))


@pytest.mark.muster_up("on a cluster its controllers make the set, and the node of the tests gives pods no addresses and names")
def test_a_stateful_set_keeps_names_and_its_pods_find_each_other(muster):
    muster.apply("""
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {clusterIP: None, selector: {app: db}, ports: [{port: 80}], publishNotReadyAddresses: true}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
""" + TEMPLATE.replace("NAME", "db").replace(
        "echo VERSION; exec sleep 600", "until getent hosts db-0.db; do sleep 0.2; done; exec sleep 600"))
    muster.until("both are ready", lambda: muster.get("sts", "db").get("status", {}).get("readyReplicas") == 2)
    names = [p["metadata"]["name"] for p in muster.get("pods", "-l", "app=db")["items"]]
    assert names == ["db-0", "db-1"]
    said = muster.until("db-1 has found db-0", lambda: muster.run("logs", "db-1").stdout)
    assert "db-0.db" in said
    refused = muster.run("apply", "-f", "-", check=False, input="""
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: claims}
spec:
  selector: {matchLabels: {app: claims}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
""" + TEMPLATE.replace("NAME", "claims"))
    assert refused.returncode != 0 and "no persistent volumes" in refused.stderr
