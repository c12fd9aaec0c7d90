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
ELSEWHERE = "some faults are told at the part that holds the field, or for another reason"
ANY_NAME = "names of Events and PodDisruptionBudgets may be anything, and a finalizer of some kinds needs no domain"
STALE = "that a version is deprecated is told with the object, not to who asks in vain"
NEWER = "who writes an Event of events.k8s.io owns fields of that version"
MADE = "the status that a Node is made with, and the label of a Namespace whose name is generated, are nobody's"
SOME = "a refusal names every fault of an object of a built-in kind, and rules that were not checked"
NAMED = "the details of a refusal name the kind or the resource, by which code refuses"
KEPT = "objects of kinds that nothing here acts on are validated, get a status, and are printed in columns of their own"
NOT_READY = "a new Node gets the taint `node.kubernetes.io/not-ready`"
PARTS = "parts of a pod that has no node are answered empty, with the pod, or not proxied"

# Of kinds that nothing here acts on.
IDLE = "resourcequotas|replicationcontrollers|podtemplates|daemonsets|cronjobs|ingresses|ingressclasses|networkpolicies|" \
       "poddisruptionbudgets|storageclasses|endpoints|endpointslices|limitranges|events"
OURS = r"\.kueue\.x-k8s\.io|\.ray\.io|\.workload\.codeflare\.dev"
ZEROS = r"{(\"\w+\": (0|{})(, )?)*}"
ONE_MORE = "|".join(rf'"<version{n + 1}>" \| "<version{n}>"' for n in range(1, 10))

DIFFERENCES: list[tuple[str, str]] = [
    (r"\| \.body\.message: \".+\" \| \".+\"$", WORDS),
    (r"\| \.body\.details: {} \| \(absent\)$", EMPTY),
    (r"\| \.body\.details\.kind: \"\w+\" \| \"\w+\"$", NAMED),
    # Ours are never none: then all of the causes would be absent, not one.
    (rf"^\w+ (?!\S*({OURS}))\S+ .*\| \.body\.details\.causes\.FieldValue\w+ at .*: true \| \(absent\)$", SOME),
    (r"\| \.body\.details\.causes\.FieldValueInvalid at <nil>: true \| \(absent\)$", SOME),
    (r"headers\.warning: .* \| \[.*but this version of Muster has no controller that acts on them", KEPT),
    (rf" ({IDLE})\.\S+ .*\.cells: \[.*\] \| \[", KEPT),
    (rf" ({IDLE}|services|statefulsets|replicasets)\.\S+ .*\.status: {ZEROS} \| \(absent\)$", EMPTY),
    (r"nodes\.v1 .*\.spec(\.taints)?: .*node.kubernetes.io/not-ready.* \| \(absent\)$", NOT_READY),
    (r"nodes\.v1 .*\.status(\.nodeInfo|\.daemonEndpoints)?: {.*(\"Port\": 0|\"bootID\": \"\").* \| \(absent\)$", EMPTY),
    (r" events\.\S+ .*\.(eventTime|firstTimestamp|lastTimestamp|reporting\w+|source|deprecated\w+): (null|\"\"|{}) \| \(absent\)$", EMPTY),
    # The empty conditions are a change to who applied none.
    (r"^owners endpointslices\S* .*causes\.FieldManagerConflict at \.endpoints: true \| \(absent\)$", EMPTY),
    (r" endpointslices\.\S+ .*\.endpoints\[\d+\]\.conditions: {} \| \(absent\)$", EMPTY),
    (r" services\.v1 .*\.status\.loadBalancer: {} \| \(absent\)$", EMPTY),
    (r" statefulsets\.\S+ .*\.status\.availableReplicas: 0 \| \(absent\)$", EMPTY),
    (r" namespaces\.v1 .*\.status: {\"phase\": \"Active\"} \| \(absent\)$", EMPTY),
    (r"^patches clusterroles\S* \| 10[2-6] .*\.resourceVersion: ", EMPTY),
    # A patch that leaves nothing of the object but its metadata, and what comes of it.
    (rf"^patches ({IDLE})\.\S+ \| 10[1-6] ", KEPT),
    (r" daemonsets\.\S+ .*(\.annotations\S*|f:metadata\S*): .*deprecated.daemonset.template.generation", KEPT),
    (r" daemonsets\.\S+ .*\.annotations\S*deprecated.daemonset.template.generation: ", KEPT),
    (r" daemonsets\.\S+ .*f:metadata\.f:annotations\.\S*: ({} \| \(absent\)|\(absent\) \| {})$", KEPT),
    (r"^own_fields replicationcontrollers\S* \| 22 .*\.status: 200 \| 400$", KEPT),
    (r"^bodies_that_are_none limitranges\S* \| 3 .*\.status: 201 \| 400$", UNREADABLE),
    (r"^bodies_that_are_none limitranges\S* .*\.body\.spec: {\"limits\": null} \| \(absent\)$", EMPTY),
    (r"^(owners|words|contents) nodes\.v1 .*\.(managedFields\S*|resourceVersion): ", NOT_READY),
    (r" nodes\.v1 .* at spec\.taints\[0\]\.effect: \(absent\) \| true$", ELSEWHERE),
    (r"^names (replicationcontrollers|cronjobs)\S* .* at metadata\.generateName: \(absent\) \| true$", ELSEWHERE),
    (r"^names namespaces\S* \| 17 .*f:labels: \(absent\) \| ", MADE),
    (r"^subresources namespaces\S* .*f:status\.f:phase: \(absent\) \| {}$", EMPTY),
    (r"^subresources (daemonsets|poddisruptionbudgets|replicasets|statefulsets|replicationcontrollers)\S* .*managedFields.*f:status\S*: ", EMPTY),
    (r"^\w+ endpoints\.v1 .*\.headers\.warning: (\(absent\) \| \[.*|\[.*\] \| \(absent\))", STALE),
    (r"^\w+ events\.events\S* .*\.managedFields", NEWER),
    (r"^\w+ events\.events\S* .*\.details\.group: \(absent\) \| \"events.k8s.io\"$", NAMED),
    (r"^(names|metadata) (events|poddisruptionbudgets|runtimeclasses)\.\S+ .*\.status: 201 \| 422$", ANY_NAME),
    (r"^subresources nodes\.v1 .*\.(managedFields\S*|resourceVersion): ", MADE),
    (r"^\w+ nodes\.v1 .*\.spec: .* \| \(absent\)$", NOT_READY),
    (r"causes\.FieldValueNotSupported at (preemptionPolicy|spec\.(strategy\.type|podManagementPolicy|updateStrategy\.type)): \(absent\) \| true$",
     ELSEWHERE),
    (r"^patches services\S* \| 101 .* at spec\.clusterIP: \(absent\) \| true$", ELSEWHERE),
    (r" (services|events)\.v1 .* at metadata\.name: \(absent\) \| true$", ELSEWHERE),
    (r" jobs\.\S+ .* at (metadata\.labels|spec\.(selector|backoffLimitPerIndex|completionMode|completions|podReplacementPolicy)): \(absent\) \| true$",
     ELSEWHERE),
    (r"^contents pods\.v1 \| 97 .* at spec\.terminationGracePeriodSeconds: \(absent\) \| true$", GRACE),
    (r"^contents pods\.v1 \| 108 .* at spec\.tolerations: \(absent\) \| true$", ELSEWHERE),
    (r" cronjobs\.\S+ .*\.metadata: {} \| \(absent\)$", EMPTY),
    (r": \"k8s\\u0000", PROTOBUF),
    (r"\.headers\.content-type\[0\]: \"application/vnd\.kubernetes\.protobuf\" \|", PROTOBUF),
    (r"columnDefinitions", COLUMNS),
    (r"\.items\[\d+\]\.(kind|apiVersion): \(absent\)", ITEMS),
    (r"^health \|", SELF),
    (r"^tokens \|", REVIEWS),
    (r"^access \|", REVIEWS),
    (r"\.status: 500 \| 4\d\d$", NUMBERS),
    (r"^conflicts (leases|(cluster)?role(binding)?s|services|endpoints|events|limitranges|runtimeclasses)\S* \| 2[67] P.*\.status: 20[01] \| 404$", UPSERT),
    (r"^random \| \d+ (PUT|GET) \S+/services/b \| \.status: 20[01] \| 404$", UPSERT),
    (r"\.status: \(absent\) \| {\"admittedWorkloads\": 0", COUNTS),
    (r"localqueues.*\.status\.(admitted|reserving|pending)Workloads: \(absent\) \| 0$", COUNTS),
    (r"localqueues.*\.cells\[\d+\]: null \| 0$", COUNTS),
    (r"^(forms \S+ \| 6|methods \S+ \| 11) GET .*\.status: 200 \| 406$", PROTOBUF),
    (r"^\w+ (cluster)?roles\S* .*rules: (null|{}) \| (\[\]|\(absent\))$", EMPTY),
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
    (r"^subresources (deployments|replicasets|statefulsets|replicationcontrollers)\S* \| 35 GET \S+/scale \| \.body\.", FORMS),
    (r"^scaled_by_several \S+ \| 39 GET .*\.managedFields: \[.*\"Update\"}, .*\"manager\": \"tester\"", TWICE),
    (r"^contents (workloads|rayclusters|rayjobs)\S* \| [67] .*\.status: 201 \| 403$", WEBHOOKS),
    (r"^contents appwrappers\S* \| [67] .*\.status: 422 \| 403$", WEBHOOKS),
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
