// Command garbage-collector runs Kubernetes' controller of that name, which deletes the objects of a
// deleted owner, such as the ProvisioningRequest of a Workload. kube-controller-manager has it, too,
// with fifty other controllers, and needs the source of the kubelet to build.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
)

// period is how often the collector looks for new kinds of objects, and how long it waits for the first.
const period = 5 * time.Second

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig `file`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	typed, untyped := informers.NewSharedInformerFactory(client, 0), metadatainformer.NewSharedInformerFactory(objects, 0)
	started := make(chan struct{})
	collector, err := garbagecollector.NewGarbageCollector(ctx, client, objects, mapper,
		garbagecollector.DefaultIgnoredResources(), informerfactory.NewInformerFactory(typed, untyped), started)
	if err != nil {
		return err
	}
	typed.Start(ctx.Done())
	untyped.Start(ctx.Done())
	close(started)
	go collector.Sync(ctx, client.Discovery(), period)
	collector.Run(ctx, 5, period)
	return nil
}
