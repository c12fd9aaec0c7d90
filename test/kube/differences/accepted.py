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
EMPTY = "empty lists, maps and zeros of optional fields go or come where Go's types have it so"
AGAIN = "the first change of a Job that changes nothing is written all the same"
WARNINGS = "pod templates are warned of for a port given twice and a spread constraint without a selector"
UNREADABLE = "what cannot be decoded is 400 or 422, by where Go notices it"
TOKEN = "a continue token is Go's own, and a list from version 0 ignores its limit"
FORMS = "a list asked for as PartialObjectMetadata is not acceptable, a scale may be a Table"
WEBHOOKS = "without Muster's webhooks its rules are not asked"
GIVEN = "managedFields that a create brings are thrown away"
TRIAL = "a create on trial repeats the resourceVersion it was sent"
BOOKMARKS = "bookmarks of built-in kinds carry the empty fields of their Go types, those of Tables an empty row"
HISTORY = "a watch from a version of an hour ago is too old (410)"
APPLIED = "the last-applied annotation is written anew with its keys in order"
TWICE = "who keeps the replicas when somebody else applies the same count at `/scale` is entered twice, and the next read forgets one of the two"
GRACE = "a negative terminationGracePeriodSeconds is taken as 1"
PARTS = "parts of a pod that has no node are answered empty, with the pod, or not proxied"

ONE_MORE = "|".join(rf'"<version{n + 1}>" \| "<version{n}>"' for n in range(1, 10))

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
    (r"^conflicts (leases|roles)\S* \| 2[67] P.*\.status: 20[01] \| 404$", UPSERT),
    (r"^random \| \d+ (PUT|GET) \S+/services/b \| \.status: 20[01] \| 404$", UPSERT),
    (r"\.status: \(absent\) \| {\"admittedWorkloads\": 0", COUNTS),
    (r"localqueues.*\.status\.(admitted|reserving|pending)Workloads: \(absent\) \| 0$", COUNTS),
    (r"localqueues.*\.cells\[\d+\]: null \| 0$", COUNTS),
    (r"^(forms \S+ \| 6|methods \S+ \| 11) GET .*\.status: 200 \| 406$", PROTOBUF),
    (r"^(contents|patches) roles\S* .*rules: (null|{}) \| (\[\]|\(absent\))$", EMPTY),
    (r"^(contents|patches) leases\S* .*\.spec: {} \| \(absent\)$", EMPTY),
    (r"^contents priorityclasses\S* .*\.value: 0 \| \(absent\)$", EMPTY),
    (r"^subresources (deployments|jobs)\S* \| 10 .*\.status: {} \| \(absent\)$", EMPTY),
    (r"^subresources \S+ \| [567] .*f:status\.\.: {} \| \(absent\)$", EMPTY),
    (r"^(owners|subresources|words) jobs\.batch.*\.resourceVersion: (" + ONE_MORE + r")$", AGAIN),
    (r"^(lists_in_pods|random) .*\.headers\.warning: \[.*(duplicate port definition|a null labelSelector).*\] \| \(absent\)$", WARNINGS),
    (r"^(bodies_that_are_none \S+ \| (3|19)|contents \S+ \| [124]|patches \S+ \| 34) .*\.status: (400 \| 422|422 \| 400)$", UNREADABLE),
    (r"^pages \S+ \| 18 GET .*\.status: 200 \| 400$", TOKEN),
    (r"^pages \S+ \| 15 GET .*\.body\.(items|metadata\.(continue|remainingItemCount)): ", TOKEN),
    (r"^forms \S+ \| 9 GET .*\.status: 406 \| 200$", FORMS),
    (r"^subresources deployments\S* \| 35 GET \S+/scale \| \.body\.", FORMS),
    (r"^scaled_by_several \S+ \| 39 GET .*\.managedFields: \[.*\"Update\"}, .*\"manager\": \"tester\"", TWICE),
    (r"^contents (workloads|rayclusters)\S* \| [67] .*\.status: 201 \| 403$", WEBHOOKS),
    (r"^metadata \S+ \| 32 POST .*managedFields: ", GIVEN),
    (r"^names \S+ \| 26 POST .*resourceVersion: \"<version1>\" \| \(absent\)$", TRIAL),
    (r"^watches \S+ \| 1[3-6] WATCH (?!.*\"(name|image)\").*events\[\d+\]\.object\.(spec|status): {.*} \| \(absent\)$", BOOKMARKS),
    (r"^client_side_moves_over .*last-applied-configuration: \"{.*\" \| \"{", APPLIED),
    (r"^contents pods\.v1 \| 6 POST .*\.status: 201 \| 422$", GRACE),
    (r"^parts_of_pods \| (27 .*\.status: 204 \| 400|31 .*\.status: 400 \| 301|3[23] .*\.status: 200 \| 404)$", PARTS),
    (r"^watches \S+ \| 20 WATCH .*events\[\d+\]\.object\.(rows|metadata\.annotations): ", BOOKMARKS),
    (r"^nobody \| 16 POST \S+/selfsubjectaccessreviews \| \.body\.metadata: {\"managedFields\"", REVIEWS),
    (r"^nobody \| 11 GET /api \| \S+serverAddress: ", SELF),
    (r"^watches_refused localqueues\S* \| 13 GET .*too old resource version", HISTORY),
]
