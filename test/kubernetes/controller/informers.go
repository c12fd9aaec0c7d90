package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// story is what an informer told, one line at a time.
type story struct {
	lines chan string
	heard []any
}

func tell(informer cache.SharedIndexInformer) (*story, error) {
	told := &story{lines: make(chan string, 100)}
	say := func(what string, one any) {
		if gone, is := one.(cache.DeletedFinalStateUnknown); is {
			one = gone.Obj
		}
		object := one.(metav1.Object)
		told.lines <- fmt.Sprintf("%s generation %d step %s", what, object.GetGeneration(), object.GetLabels()["step"])
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(one any) { say("added", one) },
		UpdateFunc: func(before, one any) {
			if before.(metav1.Object).GetResourceVersion() != one.(metav1.Object).GetResourceVersion() {
				say("updated", one)
			}
		},
		DeleteFunc: func(one any) { say("deleted", one) },
	})
	return told, err
}

// next waits for one more line.
func (s *story) next(ctx context.Context) error {
	select {
	case line := <-s.lines:
		s.heard = append(s.heard, line)
		return nil
	case <-time.After(time.Minute):
		return fmt.Errorf("nothing came after %v", s.heard)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// informers follows one Greeting through its life: with all of its fields, its metadata alone, and only while it is formal.
func (l *looker) informers(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	labelled := func(options *metav1.ListOptions) { options.LabelSelector = "word=" + l.word }
	formal := func(options *metav1.ListOptions) {
		options.LabelSelector, options.FieldSelector = "word="+l.word, "spec.tone=formal"
	}
	whole := dynamicinformer.NewFilteredDynamicSharedInformerFactory(l.dynamic, 0, l.namespace, labelled)
	chosen := dynamicinformer.NewFilteredDynamicSharedInformerFactory(l.dynamic, 0, l.namespace, formal)
	heads := metadatainformer.NewFilteredSharedInformerFactory(l.metadata, 0, l.namespace, labelled)
	stories := map[string]*story{}
	for name, informer := range map[string]cache.SharedIndexInformer{
		"whole": whole.ForResource(greetings).Informer(), "chosen": chosen.ForResource(greetings).Informer(),
		"heads": heads.ForResource(greetings).Informer()} {
		told, err := tell(informer)
		if err != nil {
			return err
		}
		stories[name] = told
	}
	client := l.dynamic.Resource(greetings).Namespace(l.namespace)
	if _, err := client.Create(ctx, l.greeting("life", "plain"), metav1.CreateOptions{}); err != nil {
		return err
	}
	whole.Start(ctx.Done())
	chosen.Start(ctx.Done())
	heads.Start(ctx.Done())
	// The one that is chosen later must be known before it is.
	if !cache.WaitForCacheSync(ctx.Done(), chosen.ForResource(greetings).Informer().HasSynced, whole.ForResource(greetings).Informer().HasSynced,
		heads.ForResource(greetings).Informer().HasSynced) {
		return fmt.Errorf("they do not know what is there")
	}
	steps := []struct{ patch, hears string }{
		{`{"metadata":{"labels":{"step":"1"}}}`, ""},
		{`{"metadata":{"labels":{"step":"2"}},"spec":{"tone":"formal"}}`, "chosen"},
		{`{"metadata":{"labels":{"step":"3"}},"spec":{"name":"Grace"}}`, "chosen"},
		{`{"metadata":{"labels":{"step":"4"}},"spec":{"tone":"plain"}}`, "chosen"},
		{"", ""},
	}
	for _, name := range []string{"whole", "heads"} {
		if err := stories[name].next(ctx); err != nil {
			return err
		}
	}
	for _, step := range steps {
		if err := l.takeStep(ctx, step.patch); err != nil {
			return err
		}
		for _, name := range []string{"whole", "heads", step.hears} {
			if told := stories[name]; told != nil {
				if err := told.next(ctx); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	}
	for name, told := range stories {
		l.seen["heard of "+name] = told.heard
	}
	left, err := whole.ForResource(greetings).Lister().List(labels.Everything())
	l.seen["known at the end"] = len(left)
	return err
}

// takeStep changes the Greeting that is followed; at last it goes.
func (l *looker) takeStep(ctx context.Context, patch string) error {
	client := l.dynamic.Resource(greetings).Namespace(l.namespace)
	if patch == "" {
		return client.Delete(ctx, l.word+"-life", metav1.DeleteOptions{})
	}
	_, err := client.Patch(ctx, l.word+"-life", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}
