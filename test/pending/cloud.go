package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"slurmflex/slurm"
	"slurmflex/test/must"
)

// request is what was asked of the cloud: machines of these names, for this job.
type request struct {
	Name    string
	Job     string // the job's key: "7", or "5_2" for a task
	Nodes   []string
	Asked   time.Time
	Due     time.Time // when it is granted
	Granted time.Time
	BySlurm bool // Slurm has allocated the nodes; a hook asked
}

func (r *request) granted() bool { return !r.Granted.IsZero() }

// cloud grants requests after a delay, and boots a slurmd for each of their machines. It is the
// outside world: it outlives the prototype.
type cloud struct {
	cluster *cluster
	delay   func(job string) time.Duration
	boot    func() time.Duration

	mu       sync.Mutex
	requests map[string]*request
	machines map[string]*machine
	seq      int
	events   []event // what was asked, granted, lost, and so on
}

type machine struct {
	cmd  *exec.Cmd // nil until booted
	made time.Time
}

// event is one line of the record of a run.
type event struct {
	At   time.Time
	What string
	Job  string
	Req  string
	N    int
	Note string
}

func startCloud(c *cluster) *cloud {
	cl := &cloud{
		cluster: c, requests: map[string]*request{}, machines: map[string]*machine{},
		delay: func(string) time.Duration { return 0 }, boot: func() time.Duration { return time.Second },
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/requests", cl.list)
	mux.HandleFunc("/ask", cl.serveAsk)
	mux.HandleFunc("/cancel", cl.serveCancel)
	mux.HandleFunc("/rebind", cl.serveRebind)
	mux.HandleFunc("/event", cl.serveEvent)
	mux.HandleFunc("/resume", cl.serveResume)
	mux.HandleFunc("/suspend", cl.serveSuspend)
	listener := must.Get(net.Listen("tcp", fmt.Sprint("127.0.0.1:", c.port+2)))
	must.Do(os.WriteFile(c.path("run/cloud"), []byte(listener.Addr().String()), 0o644))
	go func() { _ = http.Serve(listener, mux) }()
	go cl.live()
	return cl
}

func (cl *cloud) note(what, job, req string, n int, note string) {
	cl.events = append(cl.events, event{time.Now(), what, job, req, n, note})
}

// live grants what is due.
func (cl *cloud) live() {
	for range time.Tick(200 * time.Millisecond) {
		cl.mu.Lock()
		for _, r := range slices.SortedFunc(maps.Values(cl.requests), func(a, b *request) int { return cmp.Compare(a.Name, b.Name) }) {
			if !r.granted() && time.Now().After(r.Due) {
				r.Granted = time.Now()
				cl.note("granted", r.Job, r.Name, len(r.Nodes), slurm.Fold(r.Nodes))
				for _, n := range r.Nodes {
					cl.make(n)
				}
			}
		}
		cl.mu.Unlock()
	}
}

// make makes a machine, which boots.
func (cl *cloud) make(node string) {
	if cl.machines[node] != nil {
		return
	}
	m := &machine{made: time.Now()}
	cl.machines[node] = m
	time.AfterFunc(cl.boot(), func() {
		cl.mu.Lock()
		defer cl.mu.Unlock()
		if cl.machines[node] != m {
			return
		}
		m.cmd = cl.cluster.command("/usr/sbin/slurmd", "-D", "-b", "-N", node)
		if err := m.cmd.Start(); err != nil {
			log.Printf("slurmd of %s: %v", node, err)
			return
		}
		go func() { _ = m.cmd.Wait() }()
	})
}

// remove deletes a machine.
func (cl *cloud) remove(node string) {
	m := cl.machines[node]
	if m == nil {
		return
	}
	if m.cmd != nil && m.cmd.Process != nil {
		_ = m.cmd.Process.Kill()
	}
	cl.note("deleted", "", "", 1, fmt.Sprintf("%s %.1f", node, time.Since(m.made).Seconds()))
	delete(cl.machines, node)
}

func (cl *cloud) ask(job string, nodes []string, bySlurm bool) *request {
	cl.seq++
	now := time.Now()
	r := &request{Name: fmt.Sprintf("r%05d", cl.seq), Job: job, Nodes: nodes, Asked: now, Due: now.Add(cl.delay(job)), BySlurm: bySlurm}
	cl.requests[r.Name] = r
	cl.note("asked", job, r.Name, len(nodes), fmt.Sprintf("%s slurm=%v", slurm.Fold(nodes), bySlurm))
	return r
}

func (cl *cloud) list(w http.ResponseWriter, _ *http.Request) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	all := slices.SortedFunc(maps.Values(cl.requests), func(a, b *request) int { return cmp.Compare(a.Name, b.Name) })
	_ = json.NewEncoder(w).Encode(all)
}

func (cl *cloud) serveAsk(w http.ResponseWriter, q *http.Request) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	nodes := must.Get(slurm.Expand(q.FormValue("nodes")))
	for _, r := range cl.requests {
		for _, n := range nodes {
			if slices.Contains(r.Nodes, n) {
				http.Error(w, n+" is in "+r.Name, http.StatusConflict)
				return
			}
		}
	}
	_ = json.NewEncoder(w).Encode(cl.ask(q.FormValue("job"), nodes, false))
}

// serveCancel cancels a request that is not granted; of one that is it deletes the machines, if told so.
func (cl *cloud) serveCancel(w http.ResponseWriter, q *http.Request) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	r := cl.requests[q.FormValue("name")]
	switch {
	case r == nil:
	case !r.granted():
		cl.note("cancelled", r.Job, r.Name, len(r.Nodes), q.FormValue("why"))
		delete(cl.requests, r.Name)
	case q.FormValue("delete") != "":
		cl.note("dropped", r.Job, r.Name, len(r.Nodes), q.FormValue("why"))
		delete(cl.requests, r.Name)
	default:
		fmt.Fprint(w, "granted")
	}
}

func (cl *cloud) serveRebind(_ http.ResponseWriter, q *http.Request) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if r := cl.requests[q.FormValue("name")]; r != nil {
		cl.note("rebound", q.FormValue("job"), r.Name, len(r.Nodes), "from "+r.Job)
		r.Job = q.FormValue("job")
	}
}

func (cl *cloud) serveEvent(_ http.ResponseWriter, q *http.Request) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.note(q.FormValue("what"), q.FormValue("job"), q.FormValue("req"), 0, q.FormValue("note"))
}

// serveResume does what ResumeProgram does today, without a daemon: each job's nodes have one
// request, that which names exactly these nodes, or a new one.
func (cl *cloud) serveResume(_ http.ResponseWriter, q *http.Request) {
	var file struct {
		Jobs []struct {
			ID    uint32 `json:"job_id"`
			Nodes string `json:"nodes_alloc"`
			Old   string `json:"nodes"` // 22.05's word
		}
	}
	text := must.Get(io.ReadAll(q.Body))
	if err := json.Unmarshal(text, &file); err != nil {
		log.Printf("resume file: %v: %s", err, text)
	}
	shown := cl.cluster.jobsByID()
	cl.mu.Lock()
	defer cl.mu.Unlock()
	for _, j := range file.Jobs {
		key := shown[j.ID].key
		nodes := must.Get(slurm.Expand(cmp.Or(j.Nodes, j.Old)))
		slices.Sort(nodes)
		cl.note("resumed", key, "", len(nodes), slurm.Fold(nodes))
		var own *request
		for name, r := range cl.requests {
			if sameSet(r.Nodes, nodes) {
				own = r
			} else if slices.ContainsFunc(r.Nodes, func(n string) bool { return slices.Contains(nodes, n) }) {
				cl.note("displaced", r.Job, name, len(r.Nodes), slurm.Fold(r.Nodes)+" by "+key)
				delete(cl.requests, name)
			}
		}
		if own == nil {
			cl.ask(key, nodes, true)
			continue
		}
		what := "kept"
		if own.Job != key {
			what = "kept for another"
		}
		cl.note(what, key, own.Name, len(nodes), "was "+own.Job)
		own.Job, own.BySlurm = key, true
		if own.granted() {
			for _, n := range nodes {
				cl.make(n)
			}
		}
	}
}

func sameSet(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(n string) bool { return !slices.Contains(b, n) })
}

func (cl *cloud) serveSuspend(_ http.ResponseWriter, q *http.Request) {
	nodes := must.Get(slurm.Expand(q.FormValue("nodes")))
	cl.cluster.coverAlso(nodes)
	cl.mu.Lock()
	defer cl.mu.Unlock()
	for _, n := range nodes {
		cl.remove(n)
		for name, r := range cl.requests {
			if r.granted() && slices.Contains(r.Nodes, n) {
				delete(cl.requests, name)
			}
		}
	}
}

// coverAlso puts nodes that Slurm powers down by itself into the cover, if there is one: Slurm would give them to a job
// as soon as they are off.
func (c *cluster) coverAlso(nodes []string) {
	reservations, _ := c.reservations()
	for _, r := range reservations {
		if strings.HasPrefix(r.Name, coverPrefix) && !within(nodes, r.Nodes) {
			all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.Nodes, nodes))))
			if _, err := c.run("scontrol", "update", "reservationname="+r.Name, "nodes="+slurm.Fold(all)); err != nil {
				log.Printf("cover of what is suspended: %v", err)
			}
		}
	}
}

// hook is ResumeProgram and SuspendProgram: it hands over what slurmctld says.
func hook(dir, verb, nodes string) error {
	address, err := os.ReadFile(dir + "/run/cloud")
	if err != nil {
		return err
	}
	url := "http://" + string(address) + "/" + verb
	var body []byte
	if verb == "resume" {
		body = must.Get(os.ReadFile(os.Getenv("SLURM_RESUME_FILE")))
	} else {
		url += "?nodes=" + strings.ReplaceAll(nodes, "+", "%2B")
	}
	resp, err := http.Post(url, "application/octet-stream", bytes.NewReader(body))
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
