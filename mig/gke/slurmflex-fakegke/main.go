// Command slurmflex-fakegke runs the stand-in for a GKE cluster. A pod's container is a program on
// this host. PUT /fake/capacity?machines=2 sets how many machines may exist.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"slurmflex/mig/gke/standin"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	programs := flag.String("programs", "", "folder of the programs boot and delete, which get a pod's name")
	queue := flag.String("queue", "", "a LocalQueue of Kueue; empty: without Kueue")
	flag.Parse()
	call := func(program string) func(string) {
		return func(pod string) {
			out, err := exec.Command(filepath.Join(*programs, program), pod).CombinedOutput()
			log.Printf("%s %s: %v %s", program, pod, err, out)
		}
	}
	c := standin.New(standin.Options{Queue: *queue, Pace: 200 * time.Millisecond, Idle: 10 * time.Second, OnStart: call("boot"), OnStop: call("delete")})
	mux := http.NewServeMux()
	mux.Handle("/", c)
	mux.HandleFunc("PUT /fake/capacity", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.FormValue("machines"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.SetCapacity(n)
	})
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("slurmflex-fakegke serves at http://%s\n", listener.Addr())
	go c.Run(context.Background())
	log.Fatal(http.Serve(listener, mux))
}
