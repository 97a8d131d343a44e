package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"slurmflex/mig"
	"slurmflex/test/bench/site"
	"slurmflex/test/fakegce"
)

// fake is a fake Compute API in a process of its own.
type fake struct {
	endpoint string
	process  *exec.Cmd
}

// startFake starts a fake with the cluster's template and quota, whose
// operations take a second. More are further flags of slurmflex-fakegce.
func (b *bench) startFake(ctx context.Context, more ...string) (*fake, error) {
	args := append([]string{
		"--listen", "127.0.0.1:0", "--project", site.Project, "--operation-time", "1s", "--boot-time", "0", "--delete-time", "0",
		"--template", site.NodeSet + "=" + site.Machine + "@" + site.Region,
	}, more...)
	f := &fake{process: exec.CommandContext(ctx, filepath.Join(b.build, "slurmflex-fakegce"), args...)}
	f.process.Stderr = os.Stderr
	out, err := f.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := f.process.Start(); err != nil {
		return nil, fmt.Errorf("start the fake Compute API: %w; run make build", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	at := strings.Index(line, "http://")
	if err != nil || at < 0 {
		f.stop()
		return nil, fmt.Errorf("the fake Compute API says %q, which names no address", line)
	}
	f.endpoint = strings.TrimSpace(line[at:])
	err = f.tell(ctx, "quota", map[string]any{"region": site.Region, "metric": "ACTIVE_RESIZE_REQUESTS", "limit": site.ActiveRequests})
	if err != nil {
		f.stop()
	}
	return f, err
}

func (f *fake) stop() {
	_ = f.process.Process.Kill()
	_ = f.process.Wait()
}

// ask reads something of the fake's world, such as "state".
func (f *fake) ask(ctx context.Context, what string, answer any) error {
	return f.control(ctx, http.MethodGet, what, nil, answer)
}

// tell changes something in the fake's world, such as "capacity".
func (f *fake) tell(ctx context.Context, what string, order any) error {
	body, err := json.Marshal(order)
	if err != nil {
		return err
	}
	return f.control(ctx, http.MethodPost, what, body, nil)
}

func (f *fake) control(ctx context.Context, method, what string, body []byte, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, f.endpoint+"/fake/"+what, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s /fake/%s: %s: %s", method, what, resp.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

// room sets how many VMs there is capacity for; -1 is no limit.
func (f *fake) room(ctx context.Context, vms int) error {
	return f.tell(ctx, "capacity", map[string]any{"zone": site.Zone, "machineType": site.Machine, "count": vms})
}

// calls are how often each method was called since the last forget.
func (f *fake) calls(ctx context.Context) (map[string]int, error) {
	var counts map[string]int
	err := f.ask(ctx, "counts", &counts)
	return counts, err
}

func (f *fake) forgetCalls(ctx context.Context) error {
	return f.control(ctx, http.MethodDelete, "calls", nil, nil)
}

// state is the fake's whole world.
func (f *fake) state(ctx context.Context) (fakegce.State, error) {
	var st fakegce.State
	err := f.ask(ctx, "state", &st)
	return st, err
}

// requests counts the requests in that state.
func (f *fake) requests(ctx context.Context, state mig.RequestState) (int, error) {
	st, err := f.state(ctx)
	n := 0
	for _, g := range st.Groups {
		for _, r := range g.Requests {
			if r.State == string(state) {
				n++
			}
		}
	}
	return n, err
}

// pollPace is how often a condition is looked at, and so how exact a time is.
const pollPace = 25 * time.Millisecond

// await waits until a condition holds, and fails if it does not within a
// minute or two.
func await(ctx context.Context, what string, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		case <-time.After(pollPace):
		}
	}
}
