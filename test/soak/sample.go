package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// sample is what a process holds at one instant.
type sample struct {
	Heap       uint64 `json:"heap"`   // bytes that are in use after a garbage collection
	Memory     uint64 `json:"memory"` // bytes, the resident set
	Goroutines int    `json:"goroutines"`
	Files      int    `json:"files"`    // open file descriptors, of sockets and pipes too
	Children   int    `json:"children"` // processes, also those that have ended and were not waited for
	Rounds     int    `json:"rounds"`   // made so far
}

// String lists what is held.
func (s sample) String() string {
	var texts []string
	for _, h := range holdings() {
		texts = append(texts, fmt.Sprintf("%s %s", h.name, h.amount(h.of(s))))
	}
	return fmt.Sprintf("%s, %d rounds", strings.Join(texts, ", "), s.Rounds)
}

// takeSample looks at this process.
func takeSample() (s sample, err error) {
	runtime.GC()
	runtime.GC() // what the first has finalized
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	s.Heap, s.Goroutines = memory.HeapAlloc, runtime.NumGoroutine()
	if s.Memory, err = residentSet(); err != nil {
		return sample{}, err
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return sample{}, err
	}
	s.Files = len(files) - 1 // without that of the folder itself
	s.Children, err = countChildren()
	return s, err
}

// residentSet is the memory that the process has at present, in bytes.
func residentSet() (uint64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "\nVmRSS:")
	var kib uint64
	if _, err := fmt.Sscanf(rest, "%d kB", &kib); err != nil {
		return 0, fmt.Errorf("VmRSS in /proc/self/status: %w", err)
	}
	return kib << 10, nil
}

func countChildren() (n int, err error) {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return 0, err
	}
	for _, list := range lists {
		pids, err := os.ReadFile(list)
		if os.IsNotExist(err) {
			continue // a thread that has ended
		}
		if err != nil {
			return 0, err
		}
		n += len(bytes.Fields(pids))
	}
	return n, nil
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

const mebibyte = 1 << 20

// holdings are judged in this order. What a process holds at rest differs from
// day to day by a little: a command or connection under way, and what is made but
// once, such as a metric with a new label or protobuf's tables for a message that
// has not come before, to 0.1 MiB in all. The heap may grow by three times that:
// by what 60 bytes a job come to in an hour. The resident set depends on when
// garbage is collected too, and tells only of what is not in the heap.
func holdings() []holding {
	return []holding{
		{"heap", func(s sample) float64 { return float64(s.Heap) / mebibyte }, "MiB", 0.02, 0.125},
		{"goroutines", func(s sample) float64 { return float64(s.Goroutines) }, "", 0, 4},
		{"files", func(s sample) float64 { return float64(s.Files) }, "", 0, 4},
		{"children", func(s sample) float64 { return float64(s.Children) }, "", 0, 1},
		{"memory", func(s sample) float64 { return float64(s.Memory) / mebibyte }, "MiB", 0.25, 8},
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
	var all []course
	for _, h := range holdings() {
		all = append(all, course{h, median(warm[:quarter], h.of), median(warm[len(warm)-quarter:], h.of)})
	}
	return all
}

func median(samples []sample, of func(sample) float64) float64 {
	var values []float64
	for _, s := range samples {
		values = append(values, of(s))
	}
	slices.Sort(values)
	half := len(values) / 2
	if len(values)%2 == 1 {
		return values[half]
	}
	return (values[half-1] + values[half]) / 2
}
