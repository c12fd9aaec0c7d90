# test/kube/differences/cases_lists.py - lists in pages, selectors, deletion of many, and watches in every way.
import base64
import json
import urllib.parse

from play import Play
from session import JSON, METADATA, METADATA_LIST, PROTOBUF, TABLE, YAML


def three(p: Play) -> None:
    for number, name in enumerate("abc"):
        p.create(name, {"metadata": {"labels": {"case": p.session.ns, "number": str(number), **({"odd": "yes"} if number % 2 else {})}}})


def selectors(p: Play) -> None:
    three(p)
    mine = f"case={p.session.ns}"
    for selector in ("odd", "!odd", "odd=yes", "odd==yes", "odd!=yes", "odd in (yes,no)", "odd notin (yes)", "number>0", "number<1", "number>x",
                     "odd=", "odd in ()", "odd in (,yes)", "a b", "=", "odd=yes,", ",odd", "odd in yes", "odd=yes no", "!odd=yes", "a/b/c", "odd = yes",
                     "number in (0, 1 ,2)", "A_b!=c", "odd=" + "a" * 64, "()", "odd in (yes", "odd==yes=no", "number>=1", "\todd"):
        p.list(labelSelector=f"{mine},{selector}")
    name = p.name("a")
    for selector in (f"metadata.name={name}", f"metadata.name!={name}", "metadata.namespace=default", f"metadata.name={name},metadata.name!=b",
                     "nothing=a", "metadata.name", "=a", "metadata.name==" + name, "metadata.labels.odd=yes", "spec.nothing=5", ",", "metadata.name=a=b",
                     "metadata.name in (a)"):
        p.list(labelSelector=mine, fieldSelector=selector)


def own_fields(p: Play) -> None:
    three(p)
    for selector in ("spec.nodeName=", "spec.nodeName=a", "status.phase=Pending", "status.phase!=Pending", "spec.restartPolicy=Always", "spec.schedulerName=a",
                     "spec.serviceAccountName=default", "status.podIP=", "status.nominatedNodeName=", "spec.hostNetwork=false", "type=Opaque",
                     "status.successful=0", "spec.unschedulable=false", "spec.clusterIP=None", "spec.type=ClusterIP", "involvedObject.name=a",
                     "involvedObject.kind=Pod", "reason=Seen", "status.replicas=0", "spec.queueName=a", "spec.clusterQueue=a"):
        p.list(labelSelector=f"case={p.session.ns}", fieldSelector=selector)


def pages(p: Play) -> None:
    three(p)
    mine = f"case={p.session.ns}"
    first = p.list(limit=2).json
    token = first["metadata"].get("continue", "") if isinstance(first, dict) else ""
    p.list(limit=2, **{"continue": token})
    p.list(**{"continue": token})
    p.list(limit=2, accept=TABLE)
    p.list(limit=2, accept=METADATA_LIST)
    p.list(limit=2, accept=YAML)
    p.list(limit=1, labelSelector=mine)
    p.list(limit=1, fieldSelector=f"metadata.name={p.name('b')}", labelSelector=mine)
    p.list(limit=0)
    p.list(limit=-1)
    p.list(limit="many")
    p.list(limit=2, resourceVersion="0")
    for bad in ("nonsense", base64.urlsafe_b64encode(b"{}").decode().rstrip("="), base64.urlsafe_b64encode(json.dumps(
            {"v": "meta.k8s.io/v1", "rv": 1, "start": "a\u0000"}).encode()).decode().rstrip("=")):
        p.list(limit=2, **{"continue": bad})
    p.list(limit=2, resourceVersion="5", **{"continue": token})
    version = first["metadata"]["resourceVersion"] if isinstance(first, dict) else "0"
    p.create("d", {"metadata": {"labels": {"case": p.session.ns}}})
    p.settle()
    for how in ({"resourceVersion": version}, {"resourceVersion": "0"}, {"resourceVersion": "nonsense"}, {"resourceVersion": "-1"},
                {"resourceVersion": version, "resourceVersionMatch": "Exact"}, {"resourceVersion": version, "resourceVersionMatch": "NotOlderThan"},
                {"resourceVersion": "0", "resourceVersionMatch": "Exact"}, {"resourceVersionMatch": "Exact"},
                {"resourceVersion": version, "resourceVersionMatch": "Nothing"}, {"resourceVersion": "1", "resourceVersionMatch": "Exact"},
                {"resourceVersionMatch": "Exact", "resourceVersion": version, "continue": token}, {"sendInitialEvents": "true"},
                {"timeoutSeconds": "5"}, {"timeoutSeconds": "soon"}, {"allowWatchBookmarks": "true"}, {"watch": "false"}):
        p.list(**{"labelSelector": mine, **how})


def forms(p: Play) -> None:
    three(p)
    for accept in ("text/html", YAML, PROTOBUF, f"{PROTOBUF},{JSON}", "*/*", METADATA, METADATA_LIST, f"{TABLE},{JSON}", "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
                   "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io", "application/json;as=Nothing;v=v1;g=meta.k8s.io"):
        p.list(accept=accept)
    p.list(pretty="true")


def many_go(p: Play) -> None:
    three(p)
    mine = f"case={p.session.ns}"
    path = p.path()
    p.ask("DELETE", path, labelSelector=f"{mine},odd=yes", dryRun="All")
    p.ask("DELETE", path, labelSelector="a b")
    p.ask("DELETE", path, labelSelector=mine, fieldSelector="nothing=a")
    p.ask("DELETE", path, {"propagationPolicy": "Nothing"}, labelSelector=mine)
    p.ask("DELETE", path, labelSelector=f"{mine},odd=yes")
    p.list()
    p.ask("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}, labelSelector=mine, limit=1)
    p.list()
    p.ask("DELETE", path, labelSelector=mine)
    p.list()


def watches(p: Play) -> None:
    """History told again, in every form and from every beginning; each ends after a second."""
    start = p.session.server.ask("GET", p.path(), headers={"Accept": JSON}).json["metadata"]["resourceVersion"]
    three(p)
    p.patch("a", p.subject.change)
    p.patch("b", {"metadata": {"labels": {"odd": "no"}}})
    p.patch("c", {"metadata": {"labels": {"odd": "yes"}}})
    p.delete("a", {"propagationPolicy": "Background", "gracePeriodSeconds": 0})
    mine = {"labelSelector": f"case={p.session.ns}"}
    odd = {"labelSelector": f"case={p.session.ns},odd=yes"}
    name = {**mine, "fieldSelector": f"metadata.name={p.name('b')}"}
    initial = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    for how in ({**mine, "resourceVersion": start}, {**odd, "resourceVersion": start}, {**name, "resourceVersion": start}, mine, {**mine, "resourceVersion": "0"},
                {**mine, "resourceVersion": "0", "allowWatchBookmarks": "true"}, {**mine, **initial}, {**mine, **initial, "resourceVersion": start},
                {**mine, **initial, "resourceVersion": "0"}, {**mine, **initial, "sendInitialEvents": "false", "resourceVersion": start},
                {**mine, "resourceVersion": start, "accept": TABLE}, {**mine, "resourceVersion": start, "accept": METADATA},
                {**mine, **initial, "accept": TABLE}, {**mine, **initial, "accept": METADATA}):
        p.session.events(p.path(), **how)


def watches_refused(p: Play) -> None:
    for how in ({"sendInitialEvents": "true"}, {"sendInitialEvents": "true", "resourceVersionMatch": "Exact"}, {"resourceVersionMatch": "NotOlderThan"},
                {"resourceVersion": "nonsense"}, {"labelSelector": "a b"}, {"fieldSelector": "nothing=a"}, {"timeoutSeconds": "soon"}, {"resourceVersion": "-1"},
                {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "continue": "a"}, {"sendInitialEvents": "perhaps"},
                {"accept": YAML}, {"accept": "text/html"}):
        query = {"watch": "true", "timeoutSeconds": "1", **how}
        p.ask("GET", p.path(), accept=query.pop("accept", JSON), **query)
    old = urllib.parse.urlencode({"watch": "1", "timeoutSeconds": "1", "resourceVersion": "1"})
    p.ask("GET", f"{p.path()}?{old}")


OF_EVERY_KIND = [own_fields, forms, many_go]
OF_SOME_KINDS = [selectors, pages, watches, watches_refused]
