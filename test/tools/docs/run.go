package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/test/lab"
	"slurmflex/test/must"
)

const (
	// blockLimit bounds the run of one block.
	blockLimit = 5 * time.Minute
	// jobLimit bounds the wait for a page's jobs at its end.
	jobLimit = 10 * time.Minute
	// shown is the number of output lines in a problem.
	shown = 15
)

// run is the run of one page on its cluster.
type run struct {
	page     *page
	setting  setting
	cluster  *cluster
	scripts  []block // job scripts so far
	problems []problem
}

func (r *run) problem(line int, format string, args ...any) {
	r.problems = append(r.problems, problem{r.page.path, line, fmt.Sprintf(format, args...)})
}

// all runs the page from the first block to the last. After a block of commands has failed, it
// runs no further commands, because they depend on the failed ones.
func (r *run) all(ctx context.Context) (err error) {
	r.cluster = &cluster{}
	defer func() { err = errors.Join(err, r.cluster.Remove()) }()
	if err := must.Try(func() { r.cluster.start(ctx, r.setting) }); err != nil {
		return err
	}
	failed := false
	for _, b := range r.page.blocks {
		switch {
		case b.language == "text", b.language == "go", b.language == "slurm" && b.name == "":
		case b.language == "sh" && failed:
		case b.language == "sh":
			failed = !r.typeIn(ctx, b)
		case b.language == "bash" && b.name != "":
			r.scripts = append(r.scripts, b)
			r.write(ctx, b, 0o755)
		case (b.language == "yaml" || b.language == "slurm") && b.name != "":
			r.write(ctx, b, 0o644)
		case b.language == "yaml":
			r.load(b)
		default:
			r.problem(b.line, "a block of %q: not one of sh, bash NAME, yaml, yaml NAME, slurm, slurm NAME, go and text", strings.TrimSpace(b.language+" "+b.name))
		}
	}
	if !failed {
		r.awaitJobs(ctx)
	}
	return ctx.Err()
}

// own replaces a page's general names by those of this cluster.
func (r *run) own(text string) string {
	pairs := []string{"my-project", "demo"}
	if !r.setting.bare {
		address := r.cluster.HTTPAddress()
		pairs = append(pairs, "127.0.0.1:8918", address, "localhost:8918", address)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// dir returns the working folder of commands.
func (r *run) dir() string {
	if r.setting.repository {
		if here, err := os.Getwd(); err == nil {
			return here
		}
	}
	return r.cluster.home
}

// typeIn runs a block of commands and reports whether it succeeded.
func (r *run) typeIn(ctx context.Context, b block) bool {
	limited, cancel := context.WithTimeout(ctx, blockLimit)
	defer cancel()
	if err := r.awaitBefore(limited, b.text); err != nil {
		r.problem(b.line, "%v", err)
		return false
	}
	cmd := r.cluster.command(limited, r.dir(), "/bin/bash", "-e", "-c", r.own(b.text))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.Process != nil {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // ends what the block has left running
	}
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		said := slurmError.FindString(out.String())
		if said != "" {
			r.problem(b.line, "%s", said)
		}
		return said == ""
	case limited.Err() != nil:
		err = fmt.Errorf("not over after %s", blockLimit)
	}
	r.problem(b.line, "%v\n%s", err, last(out.String(), shown))
	return false
}

// slurmError matches Slurm's error messages. For an unknown column, for example, squeue prints
// one and still exits 0.
var slurmError = regexp.MustCompile(`(?m)^(?:sbatch|scontrol|sinfo|squeue): error: .*$`)

var stopsDaemon = regexp.MustCompile(`(?m)^systemctl (stop|disable --now) slurmflex$`)

// awaitBefore waits until a person would type the commands.
func (r *run) awaitBefore(ctx context.Context, text string) (err error) {
	if strings.Contains(text, "slurmflex why") {
		err = r.awaitPass(ctx)
	}
	if err == nil && stopsDaemon.MatchString(text) { // an admin would not stop it while jobs wait
		_, err = r.jobsEnd(ctx)
	}
	return err
}

// awaitPass waits until the daemon has noticed the page's actions. Typing takes a person as
// long.
func (r *run) awaitPass(ctx context.Context) error {
	now := time.Now()
	return lab.Until(ctx, time.Minute, "the daemon to make a pass", func() (bool, error) {
		out, err := r.cluster.Flex(ctx, "status", "--json")
		if err != nil {
			return false, err
		}
		var seen struct {
			At time.Time `json:"seen_at"`
		}
		err = json.Unmarshal([]byte(out), &seen)
		return seen.At.After(now), err
	})
}

func last(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return "    " + strings.Join(all[max(0, len(all)-lines):], "\n    ")
}

// write writes a file of the page for its user.
func (r *run) write(ctx context.Context, b block, mode os.FileMode) {
	path := b.name
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.cluster.home, path)
	}
	text := r.own(b.text)
	if path == configPath {
		if err := must.Try(func() { text = r.ownConfig(text) }); err != nil {
			r.problem(b.line, "%v", err)
			return
		}
	}
	// The page's root folder has links that would lead outside it if followed from here.
	cmd := r.cluster.command(ctx, "/", "/bin/bash", "-e", "-c", `mkdir -p "${1%/*}"; cat >"$1"; chmod "$2" "$1"`, "bash", path, fmt.Sprintf("%o", mode))
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		r.problem(b.line, "%s not written: %v: %s", b.name, err, out)
	}
}

var jobLine = regexp.MustCompile(`(?m)^JobId=\d+ .* Priority=(\d+) .* JobState=(\w+) .* Command=(\S+)`)

// awaitJobs waits for the jobs of the page's scripts. Each submitted script must have
// completed once, and none may have failed.
func (r *run) awaitJobs(ctx context.Context) {
	if len(r.scripts) == 0 {
		return
	}
	states, err := r.jobsEnd(ctx)
	for _, s := range r.scripts {
		ends := states[s.name]
		bad := slices.ContainsFunc(ends, func(end string) bool { return end != "COMPLETED" && end != "CANCELLED" })
		if len(ends) == 0 && !r.page.types(s.name) {
			r.problem(s.line, "nothing on the page uses %s", s.name)
		}
		if len(ends) > 0 && (bad || !slices.Contains(ends, "COMPLETED")) {
			r.problem(s.line, "its jobs ended %s instead of COMPLETED: %s", strings.Join(ends, ", "), r.output())
		}
	}
	if err != nil {
		r.problem(r.scripts[0].line, "%v", err)
	}
}

// jobsEnd waits until the jobs of the page's scripts have ended or are held. It returns their
// states by script name.
func (r *run) jobsEnd(ctx context.Context) (states map[string][]string, err error) {
	err = lab.Until(ctx, jobLimit, "the page's jobs to end", func() (bool, error) {
		out, err := r.cluster.Slurm(ctx, "scontrol", "show", "jobs", "-o")
		if err != nil {
			return false, err
		}
		over := true
		states = make(map[string][]string)
		for _, job := range jobLine.FindAllStringSubmatch(out, -1) {
			name := filepath.Base(job[3])
			states[name] = append(states[name], job[2])
			over = over && (job[1] == "0" || slices.Contains(endings, job[2]))
		}
		return over, nil
	})
	return states, err
}

// endings lists the states of ended jobs.
var endings = []string{"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY", "DEADLINE"}

// output returns the end of the output of the page's jobs.
func (r *run) output() string {
	files, _ := filepath.Glob(filepath.Join(r.cluster.home, "*.out"))
	var all strings.Builder
	for _, f := range files {
		text, _ := os.ReadFile(f)
		fmt.Fprintf(&all, "\n%s:\n%s", filepath.Base(f), last(string(text), shown))
	}
	return all.String()
}
