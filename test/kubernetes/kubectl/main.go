// test/kubernetes/kubectl/main.go - kubectl as it is released, built from its own module for the tests.
package main

import (
	"os"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"

	_ "k8s.io/client-go/plugin/pkg/client/auth"
)

func main() {
	streams := genericclioptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	command := cmd.NewDefaultKubectlCommandWithArgs(cmd.KubectlOptions{
		PluginHandler: cmd.NewDefaultPluginHandler([]string{"kubectl"}),
		Arguments:     os.Args,
		ConfigFlags:   genericclioptions.NewConfigFlags(true),
		IOStreams:     streams,
	})
	if err := cli.RunNoErrOutput(command); err != nil {
		util.CheckErr(err)
	}
}
