// Command slurmflex-fakegke stands in for GKE. A pod's container is a program on this host. With
// --kubeconfig it acts on a real API server, and forwards to it all other calls with the credentials
// of that file; without, it stands in for the API server, too.
//
//	PUT /fake/capacity?machines=2            how many machines may exist
//	PUT /fake/refuse?reason=QuotaExceeded    why requests wait or, with ended=true, fail; empty: they do not
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"slurmflex/mig/gke/standin"
)

const (
	pace = 200 * time.Millisecond
	idle = 10 * time.Second
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	programs := flag.String("programs", "", "folder of the programs boot and delete, which get a pod's name")
	queue := flag.String("queue", "", "a LocalQueue of Kueue; empty: without Kueue")
	kubeconfig := flag.String("kubeconfig", "", "of a real API server")
	namespace := flag.String("namespace", "slurm", "of the pods on a real API server")
	flag.Parse()
	gke, api, run, err := start(*queue, *kubeconfig, *namespace)
	if err != nil {
		log.Fatal(err)
	}
	call := func(program string) func(string) {
		return func(pod string) {
			out, err := exec.Command(filepath.Join(*programs, program), pod).CombinedOutput()
			log.Printf("%s %s: %v %s", program, pod, err, out)
		}
	}
	gke.OnStart, gke.OnStop = call("boot"), call("delete")
	mux := http.NewServeMux()
	mux.Handle("/", api)
	mux.HandleFunc("PUT /fake/capacity", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.FormValue("machines"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		gke.SetCapacity(n)
	})
	mux.HandleFunc("PUT /fake/refuse", func(_ http.ResponseWriter, r *http.Request) {
		gke.Refuse(r.FormValue("reason"), r.FormValue("ended") == "true")
	})
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("slurmflex-fakegke serves at http://%s\n", listener.Addr())
	go run(context.Background())
	log.Fatal(http.Serve(listener, mux))
}

// start returns GKE, what answers Kubernetes' API, and what runs GKE.
func start(queue, kubeconfig, namespace string) (*standin.GKE, http.Handler, func(context.Context), error) {
	if kubeconfig == "" {
		c := standin.New(standin.Options{Queue: queue, Pace: pace, Idle: idle})
		return c.GKE, c, c.Run, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, nil, nil, err
	}
	objects, err := standin.Connect(config, namespace)
	if err != nil {
		return nil, nil, nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, nil, nil, err
	}
	to, err := url.Parse(config.Host)
	if err != nil {
		return nil, nil, nil, err
	}
	forward := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	g := &standin.GKE{Objects: objects, Idle: idle}
	return g, forward, func(ctx context.Context) { g.Run(ctx, pace) }, nil
}
