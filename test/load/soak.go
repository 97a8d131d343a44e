package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/wake"
	"slurmflex/slurm/scontrol"
	"slurmflex/test/bench/site"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

// A day: users submit jobs and cancel some, programs and people call the daemon, and machines, requests
// and calls fail. In the evening all jobs are cancelled, and the day ends when nothing is left.
const (
	soakNodes  = 100
	stepsADay  = 120
	jobEvery   = 12 // steps; more jobs would hide a leak behind the history that the daemon remembers
	widest     = 4  // nodes
	stepPace   = 200 * time.Millisecond
	longestDay = 90 * time.Second
)

// settle is how long the daemon is left alone before a sample: all connections of former callers have
// timed out, and the last wake-ups are handled.
const settle = 3 * time.Second

// soak runs days in a folder of their own and judges them. The folder is kept if a value grows or a
// day does not end.
func soak(ctx context.Context, build string, lasts time.Duration, out io.Writer) error {
	dir, err := os.MkdirTemp("", "slurmflex-soak-")
	if err != nil {
		return err
	}
	begun := time.Now()
	var samples []sample
	err = must.Try(func() {
		b := &bench{build: must.Get(filepath.Abs(build)), dir: dir}
		h := b.newHost(setting{nodes: soakNodes, interval: 10 * time.Second, attempts: time.Second})
		defer h.end()
		h.begin(ctx)
		for number := uint64(1); time.Since(begun) < lasts; number++ {
			dawn := time.Now()
			h.live(ctx, rand.New(rand.NewPCG(number, 0)))
			samples = append(samples, h.atRest(ctx))
			fmt.Fprintf(out, "day %d, of %.0f s: %v\n", number, time.Since(dawn).Seconds(), samples[number-1])
		}
	})
	if err == nil {
		err = judge(samples, time.Since(begun), out)
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "soak: the daemon's log is in %s\n", dir)
		return err
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// live runs through a day. It returns when nothing is left and the daemon has no more callers.
func (h *host) live(ctx context.Context, r *rand.Rand) {
	var jobs []uint32
	for step := range stepsADay {
		if step%jobEvery == 0 {
			jobs = append(jobs, must.Get(h.slurm.Submit(jobOf("train", 1+r.IntN(widest), time.Duration(r.IntN(10))*time.Second))))
		}
		h.disturb(r, jobs)
		h.visit(r)
		h.pause(ctx, stepPace)
	}
	h.cloud.ClearFaults()
	h.cloud.SetCapacity(site.Zone, site.Machine, -1)
	for _, id := range jobs {
		h.cancel(id)
	}
	h.await(ctx, "the end of the day", func() bool {
		st := h.cloud.State()
		return len(must.Get(h.slurm.Jobs(ctx)))+len(st.Instances)+len(st.Groups) == 0
	})
	h.pause(ctx, settle)
}

// atRest takes the sample of a moment in which no pass has connections and commands.
func (h *host) atRest(ctx context.Context) sample {
	var some []sample
	for range 5 {
		some = append(some, h.takeSample())
		h.pause(ctx, time.Second)
	}
	return slices.MinFunc(some, func(a, b sample) int { return cmp.Compare(a.files, b.files) })
}

// pause lets time pass.
func (h *host) pause(ctx context.Context, lasts time.Duration) {
	over := time.Now().Add(lasts)
	h.await(ctx, "a pause to end", func() bool { return time.Now().After(over) })
}

// cancel cancels a job that may have ended.
func (h *host) cancel(id uint32) {
	if err := h.slurm.Cancel(id); !errors.Is(err, scontrol.ErrUnknownJob) && !errors.Is(err, scontrol.ErrJobEnded) {
		must.Do(err)
	}
}

// disturb lets something fail now and then.
func (h *host) disturb(r *rand.Rand, jobs []uint32) {
	faults := []fakegce.Fault{{Status: http.StatusServiceUnavailable}, {Status: http.StatusTooManyRequests}, {Drop: true}, {DropAfter: true}, {Delay: 2 * time.Second}}
	switch r.IntN(15) {
	case 0:
		h.cancel(jobs[r.IntN(len(jobs))])
	case 1:
		f := faults[r.IntN(len(faults))]
		f.Method, f.Times = "*", 1+r.IntN(3)
		must.Do(h.cloud.AddFault(f))
	case 2:
		if machines := h.cloud.State().Instances; len(machines) > 0 {
			_ = h.cloud.DeleteVM(machines[r.IntN(len(machines))].Name) // it may be gone
		}
	case 3:
		if all := h.waiting(); len(all) > 0 {
			one := all[r.IntN(len(all))]
			_ = h.cloud.FailRequest(one[0], one[1], "ZONE_RESOURCE_POOL_EXHAUSTED", "it fails for the soak") // it may have succeeded
		}
	case 4:
		h.cloud.SetCapacity(site.Zone, site.Machine, r.IntN(soakNodes))
	}
}

// visit reads a page of the daemon, and leaves a message incomplete.
func (h *host) visit(r *rand.Rand) {
	pages := []string{"/", "/status.json", "/metrics", "/healthz", "/why?of=alpha-a3-0", "/style.css"}
	_ = must.Try(func() { fetch(h.page + pages[r.IntN(len(pages))]) })
	network, address, texts := "tcp", h.page, []string{"", "GET / HTTP/1.1\r\nHost: local", "\x16\x03\x01"}
	if r.IntN(2) == 0 {
		network, address, texts = "unix", wake.SocketPath(h.path("run")), []string{"", `{"verb":`, "\x00"}
	}
	if conn, err := net.Dial(network, address); err == nil {
		_, _ = io.WriteString(conn, texts[r.IntN(len(texts))])
		conn.Close()
	}
}

// judge prints the last line, and fails if a value grows.
func judge(samples []sample, took time.Duration, out io.Writer) error {
	var texts, grown []string
	for _, c := range courses(samples) {
		texts = append(texts, c.String())
		if c.to > c.from*(1+c.share)+c.slack {
			grown = append(grown, c.name)
		}
	}
	verdict := "flat"
	if len(grown) > 0 {
		verdict = "not flat: " + strings.Join(grown, ", ")
	}
	fmt.Fprintf(out, "soak: %v, %d days, %.0f passes, %s, %s\n", took.Round(time.Second), len(samples), samples[len(samples)-1].passes,
		strings.Join(texts, ", "), verdict)
	if len(grown) > 0 {
		return errGrows
	}
	return nil
}
