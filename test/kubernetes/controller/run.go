package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

const (
	finalizer  = "test.muster.dev/farewell"
	ourLabel   = "test.muster.dev/greeting"
	bySettings = "spec.settings"
)

// run works on the Greetings of a namespace. Prints `started` when it is among those that may lead, `leading` when it does.
func run(ctx context.Context, config *rest.Config, namespace, id string) error {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := addGreetings(scheme); err != nil {
		return err
	}
	lock, err := leaseLock(config, namespace, id)
	if err != nil {
		return err
	}
	lease, renew, retry := 6*time.Second, 4*time.Second, 500*time.Millisecond
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		LeaderElection: true, LeaderElectionResourceLockInterface: lock, LeaderElectionReleaseOnCancel: true,
		LeaseDuration: &lease, RenewDeadline: &renew, RetryPeriod: &retry,
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}, DefaultTransform: cache.TransformStripManagedFields()},
	})
	if err != nil {
		return err
	}
	if err := addGreeter(ctx, manager); err != nil {
		return err
	}
	go func() {
		fmt.Println("started")
		select {
		case <-manager.Elected():
			fmt.Println("leading")
		case <-ctx.Done():
		}
	}()
	return manager.Start(ctx)
}

// leaseLock has an identity that the test knows.
func leaseLock(config *rest.Config, namespace, id string) (resourcelock.Interface, error) {
	return resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, namespace, "greeter",
		resourcelock.ResourceLockConfig{Identity: id}, rest.CopyConfig(config), 4*time.Second)
}

func addGreeter(ctx context.Context, manager ctrl.Manager) error {
	greeter := &Greeter{Client: manager.GetClient(), events: manager.GetEventRecorder("greeter")}
	settings := func(one client.Object) []string { return []string{one.(*Greeting).Spec.Settings} }
	if err := manager.GetFieldIndexer().IndexField(ctx, &Greeting{}, bySettings, settings); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(manager).
		For(&Greeting{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&corev1.ConfigMap{}).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(greeter.whoUses)).
		Complete(greeter)
}

// Greeter makes what Greetings ask for.
type Greeter struct {
	client.Client
	events events.EventRecorder
}

// whoUses finds the Greetings whose words are in a ConfigMap, by the cache's index.
func (g *Greeter) whoUses(ctx context.Context, settings client.Object) []ctrl.Request {
	var found GreetingList
	if err := g.List(ctx, &found, client.InNamespace(settings.GetNamespace()), client.MatchingFields{bySettings: settings.GetName()}); err != nil {
		return nil
	}
	var requests []ctrl.Request
	for i := range found.Items {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&found.Items[i])})
	}
	return requests
}

// Reconcile brings one Greeting on.
func (g *Greeter) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var greeting Greeting
	if err := g.Get(ctx, request.NamespacedName, &greeting); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !greeting.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, g.sayFarewell(ctx, &greeting)
	}
	if controllerutil.AddFinalizer(&greeting, finalizer) {
		// Its event brings it here again.
		if err := g.Update(ctx, &greeting); err != nil {
			return ctrl.Result{}, err
		}
	}
	var settings corev1.ConfigMap
	err := g.Get(ctx, types.NamespacedName{Namespace: greeting.Namespace, Name: greeting.Spec.Settings}, &settings)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, g.sayThatWordsAreMissing(ctx, &greeting)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, g.greet(ctx, &greeting, settings.Data[greeting.Spec.Tone]+" "+greeting.Spec.Name)
}

// greet applies the ConfigMap of a Greeting, and says in its status what is there.
func (g *Greeter) greet(ctx context.Context, greeting *Greeting, text string) error {
	owner := metav1ac.OwnerReference().WithAPIVersion(Version.String()).WithKind("Greeting").WithName(greeting.Name).
		WithUID(greeting.UID).WithController(true).WithBlockOwnerDeletion(true)
	wanted := corev1ac.ConfigMap("greeting-"+greeting.Name, greeting.Namespace).
		WithLabels(map[string]string{ourLabel: greeting.Name}).WithOwnerReferences(owner).WithData(map[string]string{"text": text})
	if err := g.Apply(ctx, wanted, client.FieldOwner("greeter"), client.ForceOwnership); err != nil {
		return err
	}
	var made corev1.ConfigMapList
	if err := g.List(ctx, &made, client.InNamespace(greeting.Namespace), client.MatchingLabelsSelector{
		Selector: labels.SelectorFromSet(labels.Set{ourLabel: greeting.Name})}); err != nil {
		return err
	}
	changed := greeting.Status.Text != text || greeting.Status.Copies != greeting.Spec.Copies
	greeting.Status.Text, greeting.Status.Copies = text, greeting.Spec.Copies
	if !meta.SetStatusCondition(&greeting.Status.Conditions, ready(greeting, metav1.ConditionTrue, "Greeted", "")) && !changed {
		return nil
	}
	if err := g.Status().Update(ctx, greeting); err != nil {
		return err
	}
	g.events.Eventf(greeting, nil, corev1.EventTypeNormal, "Greeted", "Greet", "said %q", text)
	return nil
}

func (g *Greeter) sayThatWordsAreMissing(ctx context.Context, greeting *Greeting) error {
	before := greeting.DeepCopyObject().(*Greeting)
	if !meta.SetStatusCondition(&greeting.Status.Conditions, ready(greeting, metav1.ConditionFalse, "NoSettings",
		"there is no ConfigMap "+greeting.Spec.Settings)) {
		return nil
	}
	g.events.Eventf(greeting, nil, corev1.EventTypeWarning, "NoSettings", "Greet", "there is no ConfigMap %s", greeting.Spec.Settings)
	return g.Status().Patch(ctx, greeting, client.MergeFrom(before))
}

// sayFarewell leaves a ConfigMap that nobody owns, and lets the Greeting go.
func (g *Greeter) sayFarewell(ctx context.Context, greeting *Greeting) error {
	if !controllerutil.ContainsFinalizer(greeting, finalizer) {
		return nil
	}
	farewell := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: greeting.Namespace, Name: "farewell-" + greeting.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, g.Client, farewell, func() error {
		farewell.Data = map[string]string{"text": "good bye " + greeting.Spec.Name}
		return nil
	})
	if err != nil {
		return err
	}
	before := greeting.DeepCopyObject().(*Greeting)
	controllerutil.RemoveFinalizer(greeting, finalizer)
	return client.IgnoreNotFound(g.Patch(ctx, greeting, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

func ready(greeting *Greeting, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: "Ready", Status: status, Reason: reason, Message: message, ObservedGeneration: greeting.Generation}
}
