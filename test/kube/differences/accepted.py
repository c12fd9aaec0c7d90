# test/kube/differences/accepted.py - differences that are meant: what they look like, and the row of docs/deviations.md that says why.
"""A pattern is searched in "CASE | NUMBER METHOD PATH = CODE | PLACE: THEIRS | OURS", where CODE is the original's, 0 of a watch; the row is
named by its first column. A pattern names its place, and what stands there: what else is there is a difference."""

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

FAILS = "a patch that cannot be merged, half a replica at `/scale`, and a count applied there to a custom kind, are errors of the server (500)"
NOT_SERVED = "discovery names what that server serves, and a hash of each stored version"
LENIENT = "a path with doubled slashes is not there, and the keys of tokens are given only to who accepts their own type"
CREDENTIAL = "reviews carry the id of the client's certificate in `userInfo.extra`, and what is posted to a subresource carries managedFields"
OTHER_DEFAULTS = "what only an older version of a kind without conversion has is dropped, with its default, and a PUT of it is a change each time"
UNTRACKED = "an object that comes with a status of a wrong type is taken without the status, and nobody owns a field of it"
APPLICABLE = "why a JSON patch cannot be applied is not said"
MEDIA = "the media types that a path takes are not named to who sends another"
ENDING = "a definition that is deleted has no grace period and no new generation, and keeps its finalizer for a moment"
MOMENT = "a new definition is Established after a moment"

# The beginning of a quoted text, and what Go's decoders put into theirs.
TEXT = r'"(?:[^"\\]|\\.)*?'
DECODERS = r"json: |json parse error|yaml: |JSON input|strconv\.|unknown conversion|error decoding|invalid character|illegal base64|cannot unmarshal|" \
           r"Invalid JSON Patch|in scheme |invalid object type|Object '\w+' is missing|cannot convert |cannot restore |decoding error"
# Of kinds that nothing here acts on.
IDLE = "resourcequotas|replicationcontrollers|podtemplates|daemonsets|cronjobs|ingresses|ingressclasses|networkpolicies|" \
       "poddisruptionbudgets|storageclasses|endpoints|endpointslices|limitranges|events"
OURS = r"\.kueue\.x-k8s\.io|\.ray\.io|\.workload\.codeflare\.dev"
ZEROS = r"{(\"\w+\": (0|{})(, )?)*}"
ONE_MORE = "|".join(rf'"<version{n + 1}>" \| "<version{n}>"' for n in range(1, 10))

DIFFERENCES: list[tuple[str, str]] = [
    # Texts of decoders, and those that repeat what was sent.
    (rf" = 400 \| \.body\.message: {TEXT}({DECODERS})", WORDS),
    (rf" = 422 \| \.body\.details\.causes\.FieldValueInvalid at patch\[0\]: {TEXT}({DECODERS}|Invalid value: )", WORDS),
    (r" = 422 \| \.body\.message: \" \\\"\\\"\" \| ", WORDS),
    (r"= 422 \| \.body\.message: \"the server rejected our request due to an error in our request\" \| \"", APPLICABLE),
    (r"= 415 \| \.body\.message: \"415: Unsupported Media Type\" \| \"the body of the request was in an unknown format - accepted media types", MEDIA),
    (r"= 406 \| \.body\.message: \"(406: Not Acceptable\\n\\nAvailable representations|only the following media types are accepted): "
     r"application/json[^|]*protobuf[^|]*\" \| \"(only the following media types are accepted: application/json, application/yaml\"|a watch is streamed)", PROTOBUF),
    (r"^conflicts \S+ \| 14 PUT .* = 409 \| \.body\.message: [^|]*StorageError: invalid object, Code: 4", WORDS),
    (r"^conflicts (namespaces|customresourcedefinitions)\S+ \| (28|29|30) DELETE .* = 409 \| \.body\.message: [^|]*Precondition failed: \w+ in precondition", WORDS),
    (r" = 422 \| \.body\.details\.causes\.FieldValueForbidden at spec\[0\]: \"Forbidden: pod updates may not change fields other than `spec\S+`"
     r"[^|]*\" \| \"Forbidden: pod updates may not change fields other than `spec\S+`", WORDS),
    (r"^strictness \S+ .* = 500 \| \.body\.message: [^|]*typed patch object[^|]*field not declared in schema\" \| [^|]*typed patch object[^|]*field not declared", WORDS),
    (rf" = 422 \| \.body\.details\.causes\.FieldValueTypeInvalid at \w+\[0\]: {TEXT}in body must be of type \w+: .* \| {TEXT}in body must be of type ", WORDS),
    (rf"^contents \w+webhookconfigurations\S* .*matchConditions\[0\]\.expression\[0\]: {TEXT}compilation failed: .* \| {TEXT}compilation failed: ", WORDS),
    (r"^patches \S+ \| (99|100) PATCH .* = 500 \| \.status: 500 \| 400$", FAILS),
    (r"^scaled_by_several \S+ \| \d+ PATCH \S+/scale\?fieldManager=scaler&force=true = 500 \| \.status: 500 \| 422$", FAILS),
    (r"^subresources gadgets\S* \| 33 PATCH \S+/scale\?fieldManager=scaler = 500 \| \.status: 500 \| 409$", FAILS),
    (r"^subresources gadgets\S* \| 27 PUT \S+/scale = 422 \| \.body\.(message: \"Gadget\.|details\.(group: \"gadgets|causes\.FieldValueInvalid at spec\.replicas))", ELSEWHERE),
    (r"^(health|discovery) .* = 200 \| \.body\.(resources\.[\w/]+\.storageVersionHash: \"|resources\.[\w/]+: {.*} \| \(absent\)$)", NOT_SERVED),
    (r"^(health|discovery) .* = 200 \| \.body\.(groups\.[\w.-]+: {.*} \| \(absent\)$|groups\.visibility\S+: \(absent\)|resources\.\w+/why: \(absent\))", NOT_SERVED),
    (r"^discovery .*/kueue.x-k8s.io/v1beta1 = 200 \| \.body\.resources\.(clusterqueues|cohorts|localqueues|multikueueclusters|workloads)(/\w+)?: \(absent\) \| {", NOT_SERVED),
    (r"^(health|discovery) .* = 200 \| \.body\.(groups\.workload.codeflare.dev\.)?versions: \[{\"groupVersion\": \"workload.codeflare.dev/v1beta1\"", NOT_SERVED),
    (r"^health \| 19 GET / = 200 \| \.body\.paths: ", NOT_SERVED),
    (r"^health \| \d+ GET /\w+\?\S*verbose\S* = 200 \| \.body: \"\[\+\]ping (excluded: )?ok\\n.* \| \"\[\+\]ping (excluded: )?ok\\n\[\+\]log ok", SELF),
    (r"^health \| 1[78] GET /version/? = 200 \| \.body\.(compiler|emulation\w+|git\w+|goVersion|minCompatibility\w+): ", SELF),
    (r"^health \| 34 GET /.well-known/openid-configuration = 200 \| \.body\.(id_token_signing_alg_values_supported\[0\]|issuer|jwks_uri): ", SELF),
    (r"^health \| 30 GET //api/v1 = 404 \| \.status: 404 \| 200$", LENIENT),
    (r"^health \| 31 GET /api//v1 = 404 \| \.status: 404 \| 200$", LENIENT),
    (r"^health \| (35 GET /openid/v1/jwks|4[12] GET /version) = 406 \| \.status: 406 \| 200$", LENIENT),
    (r"^(access|tokens) .* = 201 \| \.body\.metadata(\.managedFields)?: (\[|{\"managedFields\").* \| \(absent\)$", REVIEWS),
    (r"^access .* = 201 \| \.body\.status\.reason: \(absent\) \| \"RBAC: allowed by a role of the user\"$", REVIEWS),
    (r"^access \| 29 POST .* = 201 \| \.body\.status\.(nonR|r)esourceRules: ", SELF),
    (r"^access \| 3[12] POST .* = 201 \| \.body\.status\.userInfo\.username: \"admin\" \| \"kubernetes-admin\"$", SELF),
    (r"^(access|tokens) .* = 201 \| \.body\.status\.user(Info)?\.extra: {\"authentication.kubernetes.io/credential-id\": .*} \| \(absent\)$", CREDENTIAL),
    (r"^tokens .* = 201 \| \.body\.(spec|status)\.audiences\[0\]: \"https://kubernetes.default.svc\" \| \"https://kubernetes.default.svc.cluster.local\"$", SELF),
    (r"^tokens .* = 201 \| \.body\.spec\.boundObjectRef: null \| \(absent\)$", EMPTY),
    (r"^tokens \| (15|20) POST .* = 201 \| \.body\.status\.error: \"\[invalid bearer token, token audiences .* \| \"invalid bearer token\"$", REVIEWS),
    (r"^\w+ customresourcedefinitions\S* .*\.body\.(\S*\.)?(status\.(acceptedNames|conditions)\S*|metadata\.(managedFields\S*|resourceVersion)): ", MOMENT),
    (r"^(dry_runs|deletions|finalizers|life|many_go|conflicts) customresourcedefinitions\S* .* = 20[02] \| \.body\.(\S*\.)?"
     r"metadata\.(generation: \d \| \d|deletionGracePeriodSeconds: \(absent\) \| 0|finalizers: .*customresourcecleanup.*)$", ENDING),
    (r"^(contents|patches) customresourcedefinitions\S* .* = 422 \| \.body\.details\.causes\.\S+ at (spec|status|metadata\.name)\S*: (\(absent\) \| \[|\[.*\] \| \(absent\)$)", ELSEWHERE),
    (r"^(contents|patches) customresourcedefinitions\S* .* at status\.storedVersions\[0\]\[0\]: \"Invalid value: \\\"v1\\\": missing from spec\.versions; ", WORDS),
    (r"^contents customresourcedefinitions\S* .* at spec\S*\.openAPIV3Schema\[0\]: \"Required value\" \| \"Required value: schemas are required\"$", WORDS),
    (r" admissionchecks\.kueue.x-k8s.io/v1beta1 .*\.(spec\.retryDelayMinutes|f:spec\.f:retryDelayMinutes): ", OTHER_DEFAULTS),
    (r"^(owners|words) admissionchecks\.kueue.x-k8s.io/v1beta1 .*\.managedFields\S*(f:spec)?: .*f:retryDelayMinutes", OTHER_DEFAULTS),
    (r"^(contents|patches) \S+ .* = 422 \| \.body\.details\.causes\.\S+ at \S+: \"(Unsupported|Invalid) value: (\\\"\\\"|<value>): ([^|]*)\" \| \"(Unsupported|Invalid) value: null: \4\"$", WORDS),
    (r"^contents jobs\S* \| 28 .* at spec\.selector: \[.*`selector` not auto-generated.*\] \| \[.*field is immutable\"\]$", SOME),
    (r"^lists_in_pods \S+ \| 14 PATCH .* = 500 \| \.status: 500 \| 400$", FAILS),
    (r"^contents gadgets\S* \| (19|46) .*\.metadata\.managedFields: \(absent\) \| \[", UNTRACKED),
    (r"^discovery \| \d+ GET /api = 200 \| \S+serverAddress: ", SELF),
    (r"^names replicationcontrollers\S* \| 9 POST .* at metadata\.name\[0\]: .*must be no more than 253 bytes", ELSEWHERE),
    (r"^names customresourcedefinitions\S* \| 18 POST .* at metadata\.generateName: \[.*must be spec\.names\.plural", ELSEWHERE),
    (r"^contents clusterqueues\S* .*\.nominalQuota\[0\]: \"Invalid value: \\\"much\\\": \S+ in body should match", WORDS),
    (r"^contents topologies\S* \| 10 .* at spec\.levels: \[.*\"Invalid value: field is immutable\"\] \| \[", SOME),
    (r"^owners endpointslices\S* \| (9|13|16) .* = 409 \| \.body\.message: \"Apply failed with [^|]*\\n- \.endpoints", EMPTY),
    (r" admissionchecks\.kueue.x-k8s.io/v1beta1 .*\.metadata\.(generation: \d+ \| \d+|resourceVersion: \"<version\d+>\" \| \"<version\d+>\")$", OTHER_DEFAULTS),
    (r"\| \.body\.details: {} \| \(absent\)$", EMPTY),
    (r"\| \.body\.details\.kind: \"\w+\" \| \"\w+\"$", NAMED),
    # Ours are never none: then all of the causes would be absent, not one.
    (rf"^\w+ (?!\S*({OURS}))\S+ .*\| \.body\.details\.causes\.FieldValue\w+ at .*: \[\".*\"\] \| \(absent\)$", SOME),
    (r"\| \.body\.details\.causes\.FieldValueInvalid at <nil>: \[\".*\"\] \| \(absent\)$", SOME),
    (r"headers\.warning: .* \| \[.*but this version of Muster has no controller that acts on them", KEPT),
    (rf" ({IDLE})\.\S+ .*\.cells: \[.*\] \| \[", KEPT),
    (rf" ({IDLE}|services|statefulsets|replicasets)\.\S+ .*\.status: {ZEROS} \| \(absent\)$", EMPTY),
    (r"nodes\.v1 .*\.spec(\.taints)?: .*node.kubernetes.io/not-ready.* \| \(absent\)$", NOT_READY),
    (r"nodes\.v1 .*\.status(\.nodeInfo|\.daemonEndpoints)?: {.*(\"Port\": 0|\"bootID\": \"\").* \| \(absent\)$", EMPTY),
    (r" events\.\S+ .*\.(eventTime|firstTimestamp|lastTimestamp|reporting\w+|source|deprecated\w+): (null|\"\"|{}) \| \(absent\)$", EMPTY),
    # The empty conditions are a change to who applied none.
    (r"^owners endpointslices\S* .*causes\.FieldManagerConflict at \.endpoints: \[\".*\"\] \| \(absent\)$", EMPTY),
    (r" endpointslices\.\S+ .*\.endpoints\[\d+\]\.conditions: {} \| \(absent\)$", EMPTY),
    (r" services\.v1 .*\.status\.loadBalancer: {} \| \(absent\)$", EMPTY),
    (r" statefulsets\.\S+ .*\.status\.availableReplicas: 0 \| \(absent\)$", EMPTY),
    (r" namespaces\.v1 .*\.status: {\"phase\": \"Active\"} \| \(absent\)$", EMPTY),
    # A patch that leaves nothing of the object but its metadata.
    (rf"^patches ({IDLE})\.\S+ \| 101 .* = 200 \| \.body\.(spec: {{.*}} \| \(absent\)$|metadata\.(generation: 1 \| 2$|\S*f:spec: {{.*}} \| \(absent\)$))", EMPTY),
    (rf"^patches ({IDLE})\.\S+ \| 101 .* = 422 \| \.status: 422 \| 200$", KEPT),
    (r" daemonsets\.\S+ .*(\.annotations\S*|f:metadata\S*): .*deprecated.daemonset.template.generation", KEPT),
    (r" daemonsets\.\S+ .*\.annotations\S*deprecated.daemonset.template.generation: ", KEPT),
    (r" daemonsets\.\S+ .*f:metadata\.f:annotations\.\S*: ({} \| \(absent\)|\(absent\) \| {})$", KEPT),
    (r"^(own_fields|many_go) replicationcontrollers\S* .* = 400 \| \.body\.message: \"field label not supported: ", KEPT),
    (r"^own_fields replicationcontrollers\S* \| 22 .*\.status: 200 \| 400$", KEPT),
    (r"^bodies_that_are_none limitranges\S* \| 3 .*\.status: 201 \| 400$", UNREADABLE),
    (r"^bodies_that_are_none limitranges\S* .*\.body\.spec: {\"limits\": null} \| \(absent\)$", EMPTY),
    (r"^(owners|words|contents) nodes\.v1 .*\.managedFields\S*(f:taints: {} \| \(absent\)$|: .*\"f:taints\")", NOT_READY),
    (r"^(owners|words|contents) nodes\.v1 .*\.resourceVersion: \"<version\d+>\" \| \"<version\d+>\"$", NOT_READY),
    (r" nodes\.v1 .* at spec\.taints\[0\]\.effect: \(absent\) \| \[\".*\"\]$", ELSEWHERE),
    (r"^names (replicationcontrollers|cronjobs)\S* .* at metadata\.generateName: \(absent\) \| \[\".*\"\]$", ELSEWHERE),
    (r"^names namespaces\S* \| 17 .*f:labels: \(absent\) \| ", MADE),
    (r"^subresources namespaces\S* .*f:status\.f:phase: \(absent\) \| {}$", EMPTY),
    (r"^subresources (daemonsets|poddisruptionbudgets|replicasets|statefulsets|replicationcontrollers)\S* .*managedFields.*f:status\S*: ", EMPTY),
    (r"^\w+ endpoints\.v1 .*\.headers\.warning: (\(absent\) \| \[.*|\[.*\] \| \(absent\))", STALE),
    (r"^\w+ events\.events\S* .*\.managedFields\[\d+\]\.apiVersion: \"events.k8s.io/v1\" \| \"v1\"$", NEWER),
    (r"^\w+ events\.events\S* .*\.managedFields\[\d+\]\.fieldsV1\.f:(regarding|reporting\w+|type|reason|eventTime|action): {} \| \(absent\)$", NEWER),
    (r"^\w+ events\.events\S* .*\.managedFields\[\d+\]\.fieldsV1\.f:(reportingComponent|involvedObject): \(absent\) \| {", NEWER),
    (r"^metadata events\.events\S* \| (30|32) POST .*\.managedFields: .*\"events.k8s.io/v1\"", NEWER),
    (r"^\w+ events\.events\S* .* = (409|422) \| \.body\.message: \"(Operation cannot be fulfilled on )?Event \\\"[^|]* \| ", NAMED),
    (r"^conflicts events\.events\S* .* = 409 \| \.body\.message: [^|]*on events\.events", NAMED),
    (r"^\w+ events\.events\S* .*\.details\.group: \(absent\) \| \"events.k8s.io\"$", NAMED),
    (r"^(names|metadata) (events|poddisruptionbudgets|runtimeclasses|\w+webhookconfigurations|customresourcedefinitions)\.\S+ .*\.status: 201 \| 422$", ANY_NAME),
    (r"^names (events|poddisruptionbudgets)\.\S+ \| 1[0-3] .* at metadata\.name\[0\]: \"Invalid value: \S+ may not (be|contain) '", ANY_NAME),
    (r"^subresources nodes\.v1 .*\.(managedFields: (\(absent\)|\[.*) \| \[.*\"f:status\"|managedFields\[\d+\]\.manager: \"before-first-apply\" \| \"tester\"$)", MADE),
    (r"^\w+ nodes\.v1 .*\.spec: .* \| \(absent\)$", NOT_READY),
    (r"causes\.FieldValueNotSupported at (preemptionPolicy|spec\.(strategy\.type|podManagementPolicy|updateStrategy\.type)): \(absent\) \| \[\".*\"\]$",
     ELSEWHERE),
    (r" (services|events)\.v1 .* at metadata\.name: \(absent\) \| \[\".*\"\]$", ELSEWHERE),
    (r" jobs\.\S+ .* at (metadata\.labels|spec\.(selector|backoffLimitPerIndex|completionMode|completions|podReplacementPolicy)): \(absent\) \| \[\".*\"\]$",
     ELSEWHERE),
    (r"^contents pods\.v1 \| 97 .* at spec\.terminationGracePeriodSeconds: \(absent\) \| \[\".*\"\]$", GRACE),
    (r"^contents pods\.v1 \| 108 .* at spec\.tolerations: \(absent\) \| \[\".*\"\]$", ELSEWHERE),
    (r" cronjobs\.\S+ .*\.metadata: {} \| \(absent\)$", EMPTY),
    (r": \"k8s\\u0000", PROTOBUF),
    (r"\.headers\.content-type\[0\]: \"application/vnd\.kubernetes\.protobuf\" \|", PROTOBUF),
    (r"\.columnDefinitions\[\d+\]\.(description|type): \"", COLUMNS),
    (rf" ({IDLE})\.\S+ .*\.columnDefinitions: \[{{", KEPT),
    (r"^watches \S+ \| 20 WATCH .*\.columnDefinitions: null \| \[", BOOKMARKS),
    (r"\.items\[\d+\]\.(kind|apiVersion): \(absent\)", ITEMS),
    (r"resourceVersion=(nonsense|-1) = 500 \| \.status: 500 \| 400$", NUMBERS),
    (r"^conflicts \S+ \| 1[23] (PUT|PATCH) .* = 500 \| \.status: 500 \| 409$", NUMBERS),
    (r"^conflicts (leases|(cluster)?role(binding)?s|services|endpoints|events|limitranges|runtimeclasses)\S* \| 2[67] P.*\.status: 20[01] \| 404$", UPSERT),
    (r"^random \| \d+ (PUT|GET) \S+/services/b = 20[01] \| \.status: 20[01] \| 404$", UPSERT),
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
    (r"^pages \S+ \| 1[67] GET .* = 400 \| \.body\.message: \"invalid continue token: continue key is not valid: .* \| \"continue key is not valid\"$", TOKEN),
    (r"^pages \S+ \| 18 GET .*\.status: 200 \| 400$", TOKEN),
    (r"^pages \S+ \| 15 GET .*\.body\.(items|metadata\.(continue|remainingItemCount)): ", TOKEN),
    (r"^forms \S+ \| 9 GET .*\.status: 406 \| 200$", FORMS),
    (r"^subresources (deployments|replicasets|statefulsets|replicationcontrollers|gadgets)\S* \| 35 GET \S+/scale = 200 \| \.body\.(apiVersion|kind|metadata|spec|status|rows|columnDefinitions)", FORMS),
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
    (r"^nobody \| 16 POST \S+/selfsubjectaccessreviews = 201 \| \.body\.metadata: {\"managedFields\"", REVIEWS),
    (r"^nobody \| 11 GET /api = 200 \| \S+serverAddress: ", SELF),
    (r"^watches_refused (localqueues|gadgets)\S* \| 13 GET .*too old resource version", HISTORY),
]

# What is met with kubectl alone; "kubectl WORDS" stands there for METHOD and PATH, and what it ends with for the code.
KUBECTL: list[tuple[str, str]] = [
    (r"^kubectl_questions \| \d+ GET \S+/pods/pod/log container=main .* = 204 \| \.status: 204 \| 400$", PARTS),
    (r"^kubectl_questions \| \d+ kubectl logs pod = 0 \| \.status: 0 \| 1$", PARTS),
    (r"^kubectl_applies \| \d+ kubectl apply -f - = 1 \| \.printed\[0\]: \"The request is invalid: patch: Invalid value: .* \| \"The request is invalid: ", WORDS),
    (r"^kubectl_changes \| \d+ kubectl patch configmap settings --type=json .* = 1 \| \.printed\[0\]: \"The request is invalid: the server rejected our request "
     r"due to an error in our request\" \| \"The request is invalid: ", APPLICABLE),
    (r"^kubectl_looks \| \d+ kubectl describe localqueue queue = 0 \| \.printed: \[.*\"Events: .*\] \| \[.*\"  Admitted Workloads: +0\"", COUNTS),
    (r"^kubectl_looks \| \d+ kubectl get localqueues( -o wide)? = 0 \| \.printed\[1\]: \"queue +a +\" \| \"queue +a +0 +0\"$", COUNTS),
]
