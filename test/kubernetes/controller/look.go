package main

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"
)

const configMapsMade = 23

var greetings = Version.WithResource("greetings")

// looker asks a server in the ways of client-go, and notes what it saw.
type looker struct {
	namespace, word string
	config          *rest.Config
	typed           *kubernetes.Clientset
	dynamic         dynamic.Interface
	metadata        metadata.Interface
	seen            map[string]any
}

// look makes what it needs, looks, and takes it all away again. Nothing of what it answers is of one server only.
func look(ctx context.Context, config *rest.Config, namespace, word string) (map[string]any, error) {
	config.QPS, config.Burst = 200, 200
	l := &looker{namespace: namespace, word: word, config: config, seen: map[string]any{}}
	var err error
	if l.typed, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if l.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	if l.metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, err
	}
	for _, step := range []struct {
		name string
		take func(context.Context) error
	}{
		{"pages", l.pages}, {"informers", l.informers}, {"selectors", l.selectors}, {"refusals", l.refusals},
		{"conflict", l.conflict}, {"scale", l.scale}, {"mapping", l.mapping}, {"rights", l.rights}, {"protobuf", l.protobuf},
	} {
		if err := step.take(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return l.seen, nil
}

func (l *looker) greeting(name, tone string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": Version.String(), "kind": "Greeting",
		"metadata": map[string]any{"name": l.word + "-" + name, "namespace": l.namespace, "labels": map[string]any{"word": l.word}},
		"spec":     map[string]any{"name": "Ada", "tone": tone, "settings": "nowhere"}}}
}

func (l *looker) inFormal() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: "word=" + l.word, FieldSelector: "spec.tone=formal"}
}

// pages lists more than one page in three ways, the second of them while things change.
func (l *looker) pages(ctx context.Context) error {
	maps := l.typed.CoreV1().ConfigMaps(l.namespace)
	for i := range configMapsMade {
		one := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%02d", l.word, i), Labels: map[string]string{"word": l.word}}}
		if _, err := maps.Create(ctx, one, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	options := metav1.ListOptions{LabelSelector: "word=" + l.word, Limit: 5}
	var sizes, names, versions []string
	for {
		page, err := maps.List(ctx, options)
		if err != nil {
			return err
		}
		for _, one := range page.Items {
			names = append(names, one.Name)
		}
		sizes, versions = append(sizes, fmt.Sprint(len(page.Items))), append(versions, page.ResourceVersion)
		if page.Continue == "" {
			break
		}
		options.Continue = page.Continue
		if len(sizes) == 1 {
			// Of the moment of the first page: one that goes now is still there.
			if err := maps.Delete(ctx, l.word+"-22", metav1.DeleteOptions{}); err != nil {
				return err
			}
		}
	}
	same := true
	for _, one := range versions {
		same = same && one == versions[0]
	}
	l.seen["pages"] = map[string]any{"sizes": strings.Join(sizes, " "), "names": len(names), "last": names[len(names)-1], "one version": same}
	var paged int
	every := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return l.metadata.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(l.namespace).List(ctx, options)
	})
	every.PageSize = 4
	if err := every.EachListItem(ctx, metav1.ListOptions{LabelSelector: "word=" + l.word}, func(one runtime.Object) error {
		paged++
		_, isMetadata := one.(*metav1.PartialObjectMetadata)
		l.seen["paged as metadata"] = isMetadata
		return nil
	}); err != nil {
		return err
	}
	l.seen["paged"] = paged
	return maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "word=" + l.word})
}

func (l *looker) selectors(ctx context.Context) error {
	client := l.dynamic.Resource(greetings).Namespace(l.namespace)
	for name, tone := range map[string]string{"first": "plain", "second": "formal", "third": "formal"} {
		if _, err := client.Create(ctx, l.greeting(name, tone), metav1.CreateOptions{FieldManager: "looker", FieldValidation: "Strict"}); err != nil {
			return err
		}
	}
	found, err := client.List(ctx, l.inFormal())
	if err != nil {
		return err
	}
	l.seen["formal"] = namesOf(found)
	_, err = client.List(ctx, metav1.ListOptions{FieldSelector: "spec.name=Ada"})
	l.seen["a field that nobody selects by"] = refusal(err)
	return nil
}

func namesOf(list *unstructured.UnstructuredList) []string {
	var names []string
	for _, one := range list.Items {
		_, name, _ := strings.Cut(one.GetName(), "-")
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// refusal is an error as programs tell errors apart.
func refusal(err error) map[string]any {
	var status apierrors.APIStatus
	if err == nil || !asStatus(err, &status) {
		return map[string]any{"error": fmt.Sprint(err)}
	}
	said := status.Status()
	causes := []string{}
	if said.Details != nil {
		for _, cause := range said.Details.Causes {
			causes = append(causes, fmt.Sprintf("%s %s: %s", cause.Type, cause.Field, cause.Message))
		}
	}
	message := said.Message
	if len(causes) > 1 {
		// In which order kube-apiserver names faults of different fields is left to chance.
		sort.Strings(causes)
		message, _, _ = strings.Cut(message, "[")
	}
	return map[string]any{"code": said.Code, "reason": said.Reason, "message": message, "causes": causes}
}

func asStatus(err error, status *apierrors.APIStatus) bool {
	found, is := err.(apierrors.APIStatus)
	*status = found
	return is
}

func (l *looker) refusals(ctx context.Context) error {
	client := l.dynamic.Resource(greetings).Namespace(l.namespace)
	_, err := client.Create(ctx, l.greeting("first", "plain"), metav1.CreateOptions{})
	l.seen["there already"] = refusal(err)
	short := l.greeting("short", "formal")
	_ = unstructured.SetNestedField(short.Object, "Al", "spec", "name")
	_, err = client.Create(ctx, short, metav1.CreateOptions{})
	l.seen["against a rule"] = refusal(err)
	loud := l.greeting("loud", "loud")
	_ = unstructured.SetNestedField(loud.Object, int64(10), "spec", "copies")
	_, err = client.Create(ctx, loud, metav1.CreateOptions{})
	l.seen["against the schema"] = refusal(err)
	odd := l.greeting("odd", "plain")
	_ = unstructured.SetNestedField(odd.Object, true, "spec", "volume")
	_, err = client.Create(ctx, odd, metav1.CreateOptions{FieldValidation: "Strict"})
	l.seen["a field that is not known"] = refusal(err)
	_, err = client.Get(ctx, l.word+"-nobody", metav1.GetOptions{})
	l.seen["not there"] = refusal(err)
	_, err = l.dynamic.Resource(Version.WithResource("farewells")).Namespace(l.namespace).List(ctx, metav1.ListOptions{})
	l.seen["no such kind"] = refusal(err)
	unknown := types.UID("00000000-0000-0000-0000-000000000000")
	err = client.Delete(ctx, l.word+"-first", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &unknown}})
	l.seen["another one of that name"] = map[string]any{"conflict": apierrors.IsConflict(err)}
	return nil
}

// conflict writes over what somebody else wrote, and then as one should.
func (l *looker) conflict(ctx context.Context) error {
	client := l.dynamic.Resource(greetings).Namespace(l.namespace)
	stale, err := client.Get(ctx, l.word+"-first", metav1.GetOptions{})
	if err != nil {
		return err
	}
	patch := []byte(`{"metadata":{"annotations":{"seen":"yes"}}}`)
	if _, err := client.Patch(ctx, stale.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	tries := 0
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		tries++
		_ = unstructured.SetNestedField(stale.Object, "Grace", "spec", "name")
		written, err := client.Update(ctx, stale, metav1.UpdateOptions{})
		if err == nil {
			l.seen["after a conflict"] = []any{tries, written.GetGeneration(), written.GetAnnotations()["seen"]}
			return nil
		}
		conflict := err
		if stale, err = client.Get(ctx, stale.GetName(), metav1.GetOptions{}); err != nil {
			return err
		}
		return conflict
	})
	return err
}

func (l *looker) scale(ctx context.Context) error {
	found := discovery.NewDiscoveryClientForConfigOrDie(l.config)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	scales, err := scale.NewForConfig(l.config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(found))
	if err != nil {
		return err
	}
	client := scales.Scales(l.namespace)
	had, err := client.Get(ctx, greetings.GroupResource(), l.word+"-second", metav1.GetOptions{})
	if err != nil {
		return err
	}
	had.Spec.Replicas = 4
	now, err := client.Update(ctx, greetings.GroupResource(), had, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	l.seen["scale"] = []any{now.Spec.Replicas, now.Status.Replicas, autoscalingv1.SchemeGroupVersion.String()}
	return nil
}

func (l *looker) mapping(context.Context) error {
	cached := memory.NewMemCacheClient(discovery.NewDiscoveryClientForConfigOrDie(l.config))
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	resource, err := mapper.ResourceFor(schema.GroupVersionResource{Resource: "gr"})
	if err != nil {
		return err
	}
	mapping, err := mapper.RESTMapping(Version.WithKind("Greeting").GroupKind())
	if err != nil {
		return err
	}
	_, err = mapper.RESTMapping(schema.GroupKind{Group: Version.Group, Kind: "Farewell"})
	preferred, err2 := cached.ServerPreferredNamespacedResources()
	if err2 != nil {
		return err2
	}
	known := discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch", "patch"}}, preferred)
	kinds := []string{}
	for _, group := range known {
		for _, one := range group.APIResources {
			if group.GroupVersion == Version.String() || group.GroupVersion == "v1" && one.Kind == "ConfigMap" {
				kinds = append(kinds, one.Name+" "+strings.Join(one.ShortNames, ",")+" "+strings.Join(one.Verbs, ","))
			}
		}
	}
	sort.Strings(kinds)
	l.seen["mapping"] = []any{resource.String(), mapping.Resource.String(), mapping.Scope.Name(), meta.IsNoMatchError(err), kinds}
	return nil
}

func (l *looker) rights(ctx context.Context) error {
	answers := map[string]bool{}
	for _, verb := range []string{"list", "escalate"} {
		asked := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: l.namespace, Verb: verb, Group: Version.Group, Resource: "greetings"}}}
		said, err := l.typed.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, asked, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		answers[verb] = said.Status.Allowed
	}
	_, err := l.typed.CoreV1().Secrets(l.namespace).List(ctx, metav1.ListOptions{})
	l.seen["rights"], l.seen["no right"] = answers, refusal(err)
	return nil
}

// protobuf writes and reads a built-in kind as controllers do that are compiled with it, and takes all Greetings away.
func (l *looker) protobuf(ctx context.Context) error {
	config := rest.CopyConfig(l.config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	maps := client.CoreV1().ConfigMaps(l.namespace)
	one := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: l.word + "-"}, Data: map[string]string{"a": "ü"}, BinaryData: map[string][]byte{"b": {0, 255}}}
	made, err := maps.Create(ctx, one, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	read, err := maps.Get(ctx, made.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	l.seen["protobuf"] = []any{read.Data, read.BinaryData, len(made.Name) - len(l.word), made.UID == read.UID}
	if err := maps.Delete(ctx, made.Name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	all := l.dynamic.Resource(greetings).Namespace(l.namespace)
	if err := all.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "word=" + l.word}); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		left, err := all.List(ctx, metav1.ListOptions{LabelSelector: "word=" + l.word})
		return err == nil && len(left.Items) == 0, err
	})
}
