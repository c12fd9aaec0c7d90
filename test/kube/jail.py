# test/kube/jail.py - an API server that has no time for the operator: it answers 429 with Retry-After to all that it asks.
import http.client
import json
import socket
import threading
import time

import access
from outside import Client

FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
EVERYTHING = {"resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}],
              "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
              "subjects": [{"kind": "ServiceAccount", "serviceAccount": {"namespace": access.NAMESPACE, "name": access.ACCOUNT}}]}
SCHEMA = {"metadata": {"name": "jail"}, "spec": {"matchingPrecedence": 2, "priorityLevelConfiguration": {"name": "jail"},
                                                 "rules": [EVERYTHING]}}


class Jail:
    """A priority level of the operator's account without a seat. That refuses only while a request is under way: one is, by
    somebody else of that account, for the webhook that is asked about it never answers."""

    def __init__(self, cluster):
        self.cluster, self.client, self.ending = cluster, Client(cluster), False
        self.silent = socket.create_server(("127.0.0.1", 0))
        self.client.insist("POST", f"{FLOWS}/prioritylevelconfigurations", {"metadata": {"name": "jail"}, "spec": {
            "type": "Limited", "limited": {"nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0,
                                           "limitResponse": {"type": "Reject"}}}})
        self.client.insist("POST", WEBHOOKS, {"metadata": {"name": "silent"}, "webhooks": [{
            "name": "silent.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "timeoutSeconds": 30,
            "failurePolicy": "Ignore", "clientConfig": {"url": f"https://127.0.0.1:{self.silent.getsockname()[1]}/"},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
            "objectSelector": {"matchLabels": {"asked-about": "for-long"}}}]})
        self.token = access.token(cluster)
        self.connection = None

    def __enter__(self) -> "Jail":
        self.ending = False
        self.client.insist("POST", f"{FLOWS}/flowschemas", SCHEMA)
        self.thread = threading.Thread(target=self._sit, daemon=True)
        self.thread.start()
        return self

    def _sit(self) -> None:
        """Takes the seat as soon as it is free."""
        body = json.dumps({"metadata": {"name": "jailer", "labels": {"asked-about": "for-long"}}})
        while not self.ending:
            self.connection = self.cluster.connection(60, anonymous=True)
            try:
                self.connection.request("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", body, {
                    "Content-Type": "application/json", "Authorization": f"Bearer {self.token}"})
                self.connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                pass
            self.connection.close()
            time.sleep(0.005)

    def __exit__(self, *_) -> None:
        self.client.insist("DELETE", f"{FLOWS}/flowschemas/jail")
        self.ending = True
        sock = self.connection.sock
        if sock is not None:
            sock.shutdown(socket.SHUT_RDWR)
        self.thread.join(timeout=60)
        assert not self.thread.is_alive()

    def close(self) -> None:
        self.client.insist("DELETE", f"{WEBHOOKS}/silent")
        self.client.insist("DELETE", f"{FLOWS}/prioritylevelconfigurations/jail")
        self.silent.close()
