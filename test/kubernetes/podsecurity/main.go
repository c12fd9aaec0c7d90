// test/kubernetes/podsecurity/main.go - what Kubernetes' library pod-security-admission says of pods: reads a JSON list of
// {policy, metadata, spec} and prints the violations of each, as reason and detail.
package main

import (
	"encoding/json"
	"log"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

type row struct {
	Policy   string            `json:"policy"` // "baseline:v1.25"
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     corev1.PodSpec    `json:"spec"`
}

type violation struct {
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

func policyOf(text string) api.LevelVersion {
	word, number, _ := strings.Cut(text, ":")
	level, err := api.ParseLevel(word)
	if err != nil {
		log.Fatal(err)
	}
	version, err := api.ParseVersion(number)
	if err != nil {
		log.Fatal(err)
	}
	return api.LevelVersion{Level: level, Version: version}
}

func main() {
	var rows []row
	decoder := json.NewDecoder(os.Stdin)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&rows); err != nil {
		log.Fatal(err)
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		log.Fatal(err)
	}
	said := make([][]violation, 0, len(rows))
	for i := range rows {
		found := []violation{}
		for _, result := range evaluator.EvaluatePod(policyOf(rows[i].Policy), &rows[i].Metadata, &rows[i].Spec) {
			if !result.Allowed {
				found = append(found, violation{result.ForbiddenReason, result.ForbiddenDetail})
			}
		}
		said = append(said, found)
	}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		log.Fatal(err)
	}
}
