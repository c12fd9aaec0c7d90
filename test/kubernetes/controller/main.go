// test/kubernetes/controller - a small controller as people write them with controller-runtime, and a look at a server with the
// parts of client-go that such programs stand on. The tests run both on the real Kubernetes and on `muster up`.
//
//	controller run --id ID       works on Greetings until it is ended; of several one does
//	controller look --word WORD  writes what it saw as JSON
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("usage: controller run|look ..."))
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "the server and who asks")
	namespace := flags.String("namespace", "default", "where it works")
	id := flags.String("id", "one", "who it is among several")
	word := flags.String("word", "look", "what the names begin with that `look` makes")
	_ = flags.Parse(os.Args[2:])
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	fail(err)
	ctx := ctrl.SetupSignalHandler()
	switch os.Args[1] {
	case "run":
		fail(run(ctx, config, *namespace, *id))
	case "look":
		fail(report(ctx, config, *namespace, *word))
	default:
		fail(fmt.Errorf("%s is neither run nor look", os.Args[1]))
	}
}

func report(ctx context.Context, config *rest.Config, namespace, word string) error {
	seen, err := look(ctx, config, namespace, word)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(seen)
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "controller:", err)
		os.Exit(1)
	}
}
