package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Version is what greeting.yaml defines.
var Version = schema.GroupVersion{Group: "test.muster.dev", Version: "v1"}

// Greeting asks for a ConfigMap that greets somebody in the words of another one.
type Greeting struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GreetingSpec   `json:"spec"`
	Status            GreetingStatus `json:"status,omitempty"`
}

// GreetingSpec says whom to greet, how, and which ConfigMap has the words.
type GreetingSpec struct {
	Name     string `json:"name"`
	Tone     string `json:"tone,omitempty"`
	Settings string `json:"settings,omitempty"`
	Copies   int32  `json:"copies,omitempty"`
}

// GreetingStatus is what has become of it.
type GreetingStatus struct {
	Text       string             `json:"text,omitempty"`
	Copies     int32              `json:"copies,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// GreetingList is a list of them.
type GreetingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Greeting `json:"items"`
}

// DeepCopyObject copies it.
func (g *Greeting) DeepCopyObject() runtime.Object {
	made := *g
	g.ObjectMeta.DeepCopyInto(&made.ObjectMeta)
	made.Status.Conditions = append([]metav1.Condition(nil), g.Status.Conditions...)
	return &made
}

// DeepCopyObject copies it.
func (l *GreetingList) DeepCopyObject() runtime.Object {
	made := *l
	l.ListMeta.DeepCopyInto(&made.ListMeta)
	made.Items = make([]Greeting, 0, len(l.Items))
	for i := range l.Items {
		made.Items = append(made.Items, *l.Items[i].DeepCopyObject().(*Greeting))
	}
	return &made
}

func addGreetings(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(Version, &Greeting{}, &GreetingList{})
	metav1.AddToGroupVersion(scheme, Version)
	return nil
}
