// Command kube holds the control plane that tests run: the etcd, kube-apiserver and kubectl of upstream, and the
// controllers that tests depend on. The name it is called by chooses the program.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/etcdmain"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
)

func main() {
	programs := map[string]func(){
		"etcd":             func() { etcdmain.Main(os.Args) },
		"kube-apiserver":   func() { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) },
		"kube-controllers": runControllers,
		"kubectl":          runKubectl,
	}
	program, found := programs[filepath.Base(os.Args[0])]
	if !found {
		fail(fmt.Errorf("call it as etcd, kube-apiserver, kube-controllers or kubectl"))
	}
	program()
}

func runKubectl() {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		fail(err)
	}
}

// runControllers runs the loops of kube-controller-manager without which a cluster behaves unlike a real one:
// deletion of namespaces, garbage collection, aggregated ClusterRoles, default ServiceAccounts, the root CA's
// ConfigMap, EndpointSlices.
func runControllers() {
	flags := flag.NewFlagSet("kube-controllers", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "kubeconfig of a cluster administrator")
	rootCA := flags.String("root-ca-file", "", "CA certificate to publish in every namespace")
	klog.InitFlags(flags)
	_ = flags.Parse(os.Args[1:])

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	failIf(err)
	config.QPS, config.Burst = 200, 400
	client := kubernetes.NewForConfigOrDie(config)
	metadataClient := metadata.NewForConfigOrDie(config)
	objects := informers.NewSharedInformerFactory(client, 0)
	metadataOnly := metadatainformer.NewSharedInformerFactory(metadataClient, 0)
	informersStarted := make(chan struct{})

	namespaces := namespace.NewNamespaceController(ctx, client, metadataClient,
		client.Discovery().ServerPreferredNamespacedResources, objects.Core().V1().Namespaces(),
		5*time.Minute, corev1.FinalizerKubernetes)
	garbage, err := garbagecollector.NewGarbageCollector(ctx, client, metadataClient,
		restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
		garbagecollector.DefaultIgnoredResources(),
		informerfactory.NewInformerFactory(objects, metadataOnly), informersStarted)
	failIf(err)
	roles := clusterroleaggregation.NewClusterRoleAggregation(objects.Rbac().V1().ClusterRoles(), client.RbacV1())
	accounts, err := serviceaccount.NewServiceAccountsController(klog.FromContext(ctx),
		objects.Core().V1().ServiceAccounts(), objects.Core().V1().Namespaces(), client,
		serviceaccount.DefaultServiceAccountsControllerOptions())
	failIf(err)
	endpoints := endpointslice.NewController(ctx, objects.Core().V1().Pods(), objects.Core().V1().Services(),
		objects.Core().V1().Nodes(), objects.Discovery().V1().EndpointSlices(), 100, client, 0)
	certificate, err := os.ReadFile(*rootCA)
	failIf(err)
	publisher, err := rootcacertpublisher.NewPublisher(objects.Core().V1().ConfigMaps(),
		objects.Core().V1().Namespaces(), client, certificate)
	failIf(err)

	objects.Start(ctx.Done())
	metadataOnly.Start(ctx.Done())
	close(informersStarted)
	go namespaces.Run(ctx, 5)
	go garbage.Run(ctx, 5, 30*time.Second)
	// Kinds come and go often in tests: look for them every 2 seconds, not every 30 as upstream does.
	go garbage.Sync(ctx, client.Discovery(), 2*time.Second)
	go roles.Run(ctx, 1)
	go accounts.Run(ctx, 1)
	go endpoints.Run(ctx, 1)
	go publisher.Run(ctx, 1)
	<-ctx.Done()
}

func failIf(err error) {
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}
