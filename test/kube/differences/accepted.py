# test/kube/differences/accepted.py - differences that are meant: what they look like, and the row of docs/deviations.md that says why.
"""A pattern is searched in "CASE | NUMBER METHOD PATH | PLACE: THEIRS | OURS"; the row is named by its first column."""

WORDS = "a refusal is worded by Go's decoders and types, and repeats the object that it refuses"
PROTOBUF = "answers may be protobuf"
COLUMNS = "columns of tables carry whole descriptions, and types of their own"
ITEMS = "items of lists of built-in kinds have no kind and apiVersion"
SELF = "the server names its own checks, version, issuer and administrator"
REVIEWS = "reviews and token requests are answered with managedFields, and say which binding allows"
NUMBERS = "a resourceVersion that is no number is an error of the server (500)"
UPSERT = "a PUT of some kinds (Service, Event, Lease, roles) makes what is not there"
COUNTS = "a new LocalQueue has no status"

DIFFERENCES: list[tuple[str, str]] = [
    (r"\| \.body\.message: \"", WORDS),
    (r"\| \.body\.details(\.(causes|kind|group|name)\S*)?: ", WORDS),
    (r": \"k8s\\u0000", PROTOBUF),
    (r"\.headers\.content-type\[0\]: \"application/vnd\.kubernetes\.protobuf\" \|", PROTOBUF),
    (r"columnDefinitions", COLUMNS),
    (r"\.items\[\d+\]\.(kind|apiVersion): \(absent\)", ITEMS),
    (r"^health \|", SELF),
    (r"^tokens \|", REVIEWS),
    (r"^access \|", REVIEWS),
    (r"\.status: 500 \| 4\d\d$", NUMBERS),
    (r"^conflicts leases.* \| 2[67] P", UPSERT),
    (r"\.status: \(absent\) \| {\"admittedWorkloads\": 0", COUNTS),
    (r"localqueues.*\.status\.(admitted|reserving|pending)Workloads: \(absent\) \| 0$", COUNTS),
    (r"localqueues.*\.cells\[\d+\]: null \| 0$", COUNTS),
]
