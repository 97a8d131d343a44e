package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"slurmflex/test/must"
)

// sample is what a process holds at one instant.
type sample struct {
	heap       float64 // bytes that are in use after a garbage collection
	memory     float64 // bytes, the resident set
	goroutines float64
	files      float64 // open file descriptors, of sockets and pipes too
	children   float64 // processes, also those that have ended and were not waited for
	passes     float64 // made so far
}

// String lists what is held.
func (s sample) String() string {
	var texts []string
	for _, h := range holdings() {
		texts = append(texts, fmt.Sprintf("%s %s", h.name, h.amount(h.of(s))))
	}
	return fmt.Sprintf("%s, %.0f passes", strings.Join(texts, ", "), s.passes)
}

// takeSample has the daemon of that process tell what it holds, and keeps profiles
// of it under that number: they tell what it is that grows.
func (w *world) takeSample(ctx context.Context, pid int, profiles string, number int) (s sample) {
	pages := map[string]string{}
	for _, page := range []struct{ name, address string }{
		{"heap", profiles + "/debug/pprof/heap?gc=1&debug=1"},
		{"heap", profiles + "/debug/pprof/heap?gc=1&debug=1"}, // without what the first has finalized
		{"goroutine", profiles + "/debug/pprof/goroutine"},
		{"metrics", w.page + "/metrics"},
	} {
		text := fetch(ctx, page.address)
		pages[page.name] = "\n" + string(text)
		must.Do(os.WriteFile(w.path(fmt.Sprintf("%s-%d.pprof", page.name, number)), text, 0o600))
	}
	for _, f := range []struct {
		page, before string
		figure       *float64
	}{
		{"heap", "# HeapAlloc = ", &s.heap},
		{"metrics", "process_resident_memory_bytes ", &s.memory},
		{"metrics", "go_goroutines ", &s.goroutines},
		{"metrics", "process_open_fds ", &s.files},
		{"metrics", `slurmflex_passes_total{outcome="done"} `, &s.passes},
	} {
		_, rest, _ := strings.Cut(pages[f.page], "\n"+f.before)
		if _, err := fmt.Sscan(rest, f.figure); err != nil {
			must.Do(fmt.Errorf("the daemon's page of %s has no %s: %w", f.page, f.before, err))
		}
	}
	s.children = countChildren(pid)
	return s
}

// fetch reads a page, by a connection of its own.
func fetch(ctx context.Context, address string) []byte {
	req := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address, nil))
	req.Close = true
	resp := must.Get(http.DefaultClient.Do(req))
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		must.Do(fmt.Errorf("%s: %s", address, resp.Status))
	}
	return must.Get(io.ReadAll(resp.Body))
}

func countChildren(pid int) (n float64) {
	for _, list := range must.Get(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))) {
		pids, err := os.ReadFile(list)
		if !os.IsNotExist(err) { // a thread that has ended has no such file
			must.Do(err)
		}
		n += float64(len(bytes.Fields(pids)))
	}
	return n
}

// holding is a thing that a process may hold ever more of.
type holding struct {
	name  string
	of    func(sample) float64
	unit  string
	share float64 // of what there was, by which it may grow
	slack float64 // and by how much more
}

// amount is how much of it there is, in words.
func (h holding) amount(n float64) string {
	if h.unit == "" {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.2f %s", n, h.unit)
}

// holdings are judged in this order. What a process holds at rest differs from
// day to day by a little: a command or connection under way, and what is made but
// once, such as a metric with a new label or protobuf's tables for a message that
// has not come before, to 0.1 MiB in all. The heap may grow by three times that:
// by what 60 bytes a job come to in an hour. The resident set depends on when
// garbage is collected too, and says only of what is not in the heap.
func holdings() []holding {
	return []holding{
		{"heap", func(s sample) float64 { return s.heap / mebibyte }, "MiB", 0.02, 0.125},
		{"goroutines", func(s sample) float64 { return s.goroutines }, "", 0, 4},
		{"files", func(s sample) float64 { return s.files }, "", 0, 4},
		{"children", func(s sample) float64 { return s.children }, "", 0, 1},
		{"memory", func(s sample) float64 { return s.memory / mebibyte }, "MiB", 0.25, 8},
	}
}

// course is how much of a holding there was at first and at last.
type course struct {
	holding
	from, to float64
}

func (c course) flat() bool { return c.to <= c.from*(1+c.share)+c.slack }

func (c course) String() string {
	from, _, _ := strings.Cut(c.amount(c.from), " ")
	return fmt.Sprintf("%s %s→%s", c.name, from, c.amount(c.to))
}

// warmUp is the part of the samples that is not judged: caches and buffers fill
// up. At least one is.
const warmUp = 10 // one in

// fewest is how many samples can be judged: two quarters of one each behind one
// that warms up.
const fewest = 3

// courses compares the median of the first quarter after the warm-up with that
// of the last one.
func courses(samples []sample) []course {
	warm := samples[max(1, len(samples)/warmUp):]
	quarter := max(1, len(warm)/4)
	middle := func(some []sample, h holding) float64 {
		var values []float64
		for _, s := range some {
			values = append(values, h.of(s))
		}
		return median(values)
	}
	var all []course
	for _, h := range holdings() {
		all = append(all, course{h, middle(warm[:quarter], h), middle(warm[len(warm)-quarter:], h)})
	}
	return all
}
