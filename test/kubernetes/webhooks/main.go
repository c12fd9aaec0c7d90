// test/kubernetes/webhooks/main.go - asks the webhooks of the real Kueue about the cases on its standard input, as an API
// server does, and writes what they say. Run by record.py.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	_ "sigs.k8s.io/kueue/pkg/controller/jobs"
	"sigs.k8s.io/kueue/pkg/webhooks"
)

// One request, and what is in the cluster when it comes.
type question struct {
	Before *unstructured.Unstructured   `json:"before"`
	After  *unstructured.Unstructured   `json:"after"`
	There  []*unstructured.Unstructured `json:"there"`
}

type answer struct {
	Allowed  bool     `json:"allowed"`
	Text     string   `json:"text"`
	Warnings []string `json:"warnings,omitempty"`
}

// Kinds whose mutating webhook is also asked about updates.
var mutatedOnUpdate = map[string]bool{"Deployment": true, "StatefulSet": true, "LeaderWorkerSet": true}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	check(clientgoscheme.AddToScheme(scheme))
	check(kueue.AddToScheme(scheme))
	check(jobframework.ForEachIntegration(func(_ string, callbacks jobframework.IntegrationCallbacks) error {
		if callbacks.AddToScheme == nil {
			return nil
		}
		return callbacks.AddToScheme(scheme)
	}))
	return scheme
}

func newClient(scheme *runtime.Scheme, there []*unstructured.Unstructured) client.Client {
	builder := fake.NewClientBuilder().WithScheme(scheme).
		WithIndex(&kueue.LocalQueue{}, indexer.QueueClusterQueueKey, indexer.IndexQueueClusterQueue).
		WithIndex(&kueue.Workload{}, indexer.WorkloadQueueKey, indexer.IndexWorkloadQueue).
		WithIndex(&kueue.Workload{}, indexer.WorkloadClusterQueueKey, indexer.IndexWorkloadClusterQueue).
		WithIndex(&kueue.Workload{}, indexer.OwnerReferenceUID, indexer.IndexOwnerUID)
	builder = builder.WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}})
	for _, each := range there {
		typed, err := scheme.New(each.GroupVersionKind())
		check(err)
		check(runtime.DefaultUnstructuredConverter.FromUnstructured(each.Object, typed))
		builder = builder.WithObjects(typed.(client.Object))
	}
	return builder.Build()
}

// Every webhook of Kueue, of a manager that never starts.
func newWebhooks(scheme *runtime.Scheme, there []*unstructured.Unstructured) http.Handler {
	cluster := newClient(scheme, there)
	server := webhook.NewServer(webhook.Options{})
	manager, err := ctrl.NewManager(&rest.Config{Host: "localhost"}, ctrl.Options{
		Scheme:        scheme,
		Metrics:       metricsserver.Options{BindAddress: "0"},
		WebhookServer: server,
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
			return meta.NewDefaultRESTMapper(nil), nil
		},
		NewClient: func(*rest.Config, client.Options) (client.Client, error) { return cluster, nil },
	})
	check(err)
	cache := schdcache.New(cluster)
	queues := qcache.NewManager(cluster, cache, qcache.NewRequeuer())
	var localQueues kueue.LocalQueueList
	check(cluster.List(context.Background(), &localQueues))
	for i := range localQueues.Items {
		check(queues.AddLocalQueue(context.Background(), &localQueues.Items[i]))
	}
	_, err = webhooks.Setup(manager, nil)
	check(err)
	check(jobframework.ForEachIntegration(func(name string, callbacks jobframework.IntegrationCallbacks) error {
		jobframework.EnableIntegration(name)
		return callbacks.SetupWebhook(manager, jobframework.WithQueues(queues), jobframework.WithCache(cache))
	}))
	return server.WebhookMux()
}

func pathOf(verb string, kind schema.GroupVersionKind) string {
	return "/" + verb + "-" + strings.ReplaceAll(kind.Group, ".", "-") + "-" + kind.Version + "-" +
		strings.ToLower(kind.Kind)
}

func raw(object *unstructured.Unstructured) runtime.RawExtension {
	if object == nil {
		return runtime.RawExtension{}
	}
	text, err := object.MarshalJSON()
	check(err)
	return runtime.RawExtension{Raw: text}
}

// Null: there is no such webhook.
func ask(hooks http.Handler, verb string, before, after *unstructured.Unstructured) *admissionv1.AdmissionResponse {
	kind := after.GroupVersionKind()
	operation := admissionv1.Create
	if before != nil {
		operation = admissionv1.Update
	}
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID:       types.UID("1"),
			Kind:      metav1.GroupVersionKind(kind),
			Operation: operation,
			Name:      after.GetName(),
			Namespace: after.GetNamespace(),
			Object:    raw(after),
			OldObject: raw(before),
		},
	})
	check(err)
	request := httptest.NewRequest(http.MethodPost, pathOf(verb, kind), bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	reply := httptest.NewRecorder()
	hooks.ServeHTTP(reply, request)
	if reply.Code == http.StatusNotFound {
		return nil
	}
	var review admissionv1.AdmissionReview
	check(json.Unmarshal(reply.Body.Bytes(), &review))
	return review.Response
}

func patched(object *unstructured.Unstructured, response *admissionv1.AdmissionResponse) *unstructured.Unstructured {
	if response == nil || len(response.Patch) == 0 {
		return object
	}
	patch, err := jsonpatch.DecodePatch(response.Patch)
	check(err)
	text, err := patch.Apply(raw(object).Raw)
	check(err)
	made := &unstructured.Unstructured{}
	check(made.UnmarshalJSON(text))
	return made
}

func answerTo(scheme *runtime.Scheme, asked question) answer {
	hooks := newWebhooks(scheme, asked.There)
	object := asked.After
	said := answer{Allowed: true}
	add := func(response *admissionv1.AdmissionResponse) {
		if response == nil {
			return
		}
		said.Warnings = append(said.Warnings, response.Warnings...)
		if !response.Allowed {
			said.Allowed = false
			said.Text = response.Result.Message
		}
	}
	if asked.Before == nil || mutatedOnUpdate[object.GetKind()] {
		response := ask(hooks, "mutate", asked.Before, object)
		add(response)
		object = patched(object, response)
	}
	if said.Allowed {
		response := ask(hooks, "validate", asked.Before, object)
		if response == nil {
			check(fmt.Errorf("no webhook validates %s", object.GroupVersionKind()))
		}
		add(response)
	}
	return said
}

func main() {
	log.SetLogger(logr.Discard())
	scheme := newScheme()
	var questions []question
	check(json.NewDecoder(os.Stdin).Decode(&questions))
	answers := make([]answer, 0, len(questions))
	for _, asked := range questions {
		answers = append(answers, answerTo(scheme, asked))
	}
	check(json.NewEncoder(os.Stdout).Encode(answers))
}
