package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"slurmflex/test/bench/site"
	"slurmflex/test/must"
)

// sample holds a process's resource use at one instant.
type sample struct {
	heap       float64 // bytes in use after the last garbage collection, without the remembered history
	memory     float64 // bytes, the resident set
	goroutines float64
	files      float64 // open file descriptors, including sockets and pipes
	children   float64 // child processes, including zombies
	passes     float64 // so far
}

// String lists the values.
func (s sample) String() string {
	var texts []string
	for _, h := range holdings() {
		texts = append(texts, fmt.Sprintf("%s %s", h.name, h.amount(h.of(s))))
	}
	return fmt.Sprintf("%s, %.0f passes", strings.Join(texts, ", "), s.passes)
}

// takeSample reads the daemon's resource use from its metrics.
func (h *host) takeSample() (s sample) {
	var gogc float64
	page := "\n" + string(fetch(h.page+"/metrics"))
	for before, figure := range map[string]*float64{
		"go_memstats_next_gc_bytes ": &s.heap, "process_resident_memory_bytes ": &s.memory, "go_goroutines ": &s.goroutines,
		"process_open_fds ": &s.files, "go_gc_gogc_percent ": &gogc, `slurmflex_passes_total{outcome="done"} `: &s.passes,
	} {
		_, rest, _ := strings.Cut(page, "\n"+before)
		if _, err := fmt.Sscan(rest, figure); err != nil {
			must.Do(fmt.Errorf("the daemon's metrics lack %s: %w", before, err))
		}
	}
	// The next collection is due when the heap has grown by GOGC percent. The daemon remembers the last day's
	// lines of the history, which take about as much in memory.
	history := must.Get(os.Stat(h.path("history/history-" + site.Cluster + ".jsonl")))
	s.heap = s.heap*100/(100+gogc) - float64(history.Size())
	s.children = countChildren(h.daemon.Process.Pid)
	return s
}

// fetch reads a page over a connection of its own.
func fetch(address string) []byte {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	resp := must.Get(client.Get("http://" + address))
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

// holding is a resource that a leaking process would accumulate.
type holding struct {
	name  string
	of    func(sample) float64
	unit  string
	share float64 // the allowed growth, relative to the start
	slack float64 // plus this absolute amount
}

// amount formats an amount of the resource with its unit.
func (h holding) amount(n float64) string {
	if h.unit == "" {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.2f %s", n, h.unit)
}

// holdings returns the resources in the order in which they are judged. At rest, a process varies a
// little from day to day: a running command or connection, and what the last garbage collection found in a
// pass. The resident set also depends on the timing of garbage collections, so it only detects growth outside the
// heap.
func holdings() []holding {
	return []holding{
		{"heap", func(s sample) float64 { return s.heap / mebibyte }, "MiB", 0.02, 1},
		{"goroutines", func(s sample) float64 { return s.goroutines }, "", 0, 4},
		{"files", func(s sample) float64 { return s.files }, "", 0, 4},
		{"children", func(s sample) float64 { return s.children }, "", 0, 1},
		{"memory", func(s sample) float64 { return s.memory / mebibyte }, "MiB", 0.25, 8},
	}
}

// course is the amount of a resource at the start and at the end.
type course struct {
	holding
	from, to float64
}

func (c course) String() string {
	from, _, _ := strings.Cut(c.amount(c.from), " ")
	return fmt.Sprintf("%s %s→%s", c.name, from, c.amount(c.to))
}

// warmUp is the divisor for the samples that are not judged, because caches and buffers are filling
// up: one in warmUp, at least one.
const warmUp = 10 // one in

// fewest is the minimum number of samples for a judgement: one for the warm-up and one for each of
// the two quarters.
const fewest = 3

// courses compares the median of the first quarter after the warm-up with the median of the last
// quarter.
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
