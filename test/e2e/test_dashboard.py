# test/e2e/test_dashboard.py - a real Ray cluster: its dashboard in a browser through the service proxy, and jobs on it.
import base64
import json
import os
import pathlib
import shutil

import pytest
import yaml
from playwright.sync_api import Page, expect, sync_playwright

from test_bad_input import Client

pytestmark = pytest.mark.muster_up("Ray's pods need addresses of their own; real Ray on the real Kubernetes is test/kube/test_ray.py")

CLUSTER = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: shown}
spec:
  rayVersion: "2.58.0"
  headGroupSpec:
    rayStartParams: {num-cpus: "1", object-store-memory: "100000000"}
    template: &node
      spec:
        containers:
        - name: ray
          image: rayproject/ray:2.58.0
          env: [{name: RAY_USAGE_STATS_ENABLED, value: "0"}]
          resources: {requests: {cpu: "1", memory: 1G}, limits: {cpu: "1", memory: 2G}}
  workerGroupSpecs:
  - groupName: small
    replicas: 1
    minReplicas: 1
    maxReplicas: 1
    rayStartParams: {num-cpus: "1", object-store-memory: "100000000"}
    template: *node
"""


# Jobs on the running cluster, in the modes that need no pods of their own.
JOBS = """
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: by-hand}
spec:
  submissionMode: InteractiveMode
  clusterSelector: {ray.io/cluster: shown}
---
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: posted}
spec:
  submissionMode: HTTPMode
  clusterSelector: {ray.io/cluster: shown}
  entrypoint: python -c "import os; print('who', os.environ['WHO'])"
  runtimeEnvYAML: |
    env_vars: {WHO: me}
  metadata: {from: test}
  entrypointNumCpus: 0.5
"""


def credentials(kubeconfig: pathlib.Path) -> tuple[str, dict]:
    """The server's address, and what a browser shows it: the client certificate of the kubeconfig."""
    config = yaml.safe_load(kubeconfig.read_text())
    server, user = config["clusters"][0]["cluster"]["server"], config["users"][0]["user"]
    return server, {"origin": server, "cert": base64.b64decode(user["client-certificate-data"]),
                    "key": base64.b64decode(user["client-key-data"])}


def chromium() -> str:
    """Debian's browser: Playwright's own would be another download."""
    found = shutil.which("chromium")
    assert found, "chromium is missing; ./dev installs it (scripts/packages.txt)"
    return found


def keep(page: Page, name: str) -> None:
    """Where somebody wants to look at the pages, they are kept."""
    if folder := os.environ.get("MUSTER_SCREENSHOTS"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def look_at_nodes(page: Page, service: str, pods: list[dict]) -> None:
    page.goto(f"{service}/#/cluster")
    for pod in pods:
        row = page.locator("tr", has_text=pod["status"]["podIP"])
        expect(row.get_by_text("ALIVE").first).to_be_visible()
    keep(page, "cluster")
    # Links lead on below the proxy's path.
    page.get_by_role("link", name="Jobs").first.click()
    page.wait_for_url("**/services/shown-head-svc:dashboard/proxy/#/jobs")


def submit(muster) -> None:
    """Submits a job through the proxy; not from the page, because Ray refuses what browsers post."""
    status, answer = Client(muster).ask(
        "POST", "/api/v1/namespaces/default/services/shown-head-svc:dashboard/proxy/api/jobs/",
        json.dumps({"entrypoint": "echo $((6*7)) behind the proxy", "submission_id": "seen"}).encode())
    assert status == 200, answer


def look_at_the_job(page: Page, service: str) -> None:
    # Ray 2.58 loses what it says over a compressed WebSocket, which browsers always ask for (without the proxy too):
    # that it opens and ends well is all that a browser can see of it.
    ended = page.evaluate("""() => new Promise(done => {
        const address = new URL("api/jobs/seen/logs/tail", location.href);
        address.protocol = "wss:";
        address.hash = "";
        let opened = false;
        const socket = new WebSocket(address);
        socket.onopen = () => { opened = true; };
        socket.onclose = event => done([opened, event.code]);
    })""")
    assert ended == [True, 1000]
    page.goto(f"{service}/#/jobs/seen")
    expect(page.get_by_text("SUCCEEDED").first).to_be_visible()
    expect(page.get_by_text("42 behind the proxy").first).to_be_visible()
    keep(page, "job")


def finish_jobs(muster) -> None:
    """What the user submitted by hand, and what Muster posted, both end in their objects."""
    muster.run("patch", "rayjob", "by-hand", "--type", "merge", "-p", '{"spec": {"jobId": "seen"}}')
    for name in ("by-hand", "posted"):
        status = muster.until(f"{name} is over", lambda name=name: (lambda job: job if job.get(
            "jobDeploymentStatus") in ("Complete", "Failed") else None)(
                muster.get("rayjob", name).get("status", {})), timeout=120)
        assert (status["jobDeploymentStatus"], status["jobStatus"]) == ("Complete", "SUCCEEDED"), status
    assert muster.get("raycluster", "shown"), "the cluster is not the jobs' own"


def test_the_ray_dashboard_opens_in_a_browser_shows_its_nodes_and_jobs(muster):
    muster.apply(CLUSTER)
    muster.until("the cluster is ready",
                 lambda: muster.get("raycluster", "shown").get("status", {}).get("state") == "ready", timeout=240)
    pods = muster.get("pods", "-l", "ray.io/cluster=shown")["items"]
    assert len(pods) == 2
    muster.apply(JOBS)
    muster.until("one job waits for its user",
                 lambda: muster.get("rayjob", "by-hand").get("status", {}).get("jobDeploymentStatus") == "Waiting")
    server, certificate = credentials(muster.kubeconfig)
    service = f"{server}/api/v1/namespaces/default/services/shown-head-svc:dashboard/proxy"
    failed: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        context = browser.new_context(client_certificates=[certificate], ignore_https_errors=True,
                                      viewport={"width": 1400, "height": 900})
        page = context.new_page()
        page.set_default_timeout(90_000)
        expect.set_options(timeout=90_000)
        page.on("response", lambda answer: failed.append(f"{answer.status} {answer.url}")
                if "/static/" in answer.url and answer.status >= 400 else None)
        look_at_nodes(page, service, pods)
        submit(muster)
        look_at_the_job(page, service)
        assert not failed, failed
        browser.close()
    finish_jobs(muster)
    muster.run("delete", "raycluster", "shown", "--wait=false")
    muster.until("its processes are gone", lambda: not muster.get("pods", "-l", "ray.io/cluster=shown").get("items"))
