package diag

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"slurmflex/flex/trial/transcript"
)

// Host describes where a cluster's slurmflex runs.
type Host struct {
	Slurmflex string // the program
	Config    string // its configuration file
	BinDir    string // of Slurm's commands; empty: from PATH
	LogFile   string // of the hooks; empty: unknown
	Trial     string // the transcript of a trial; empty: none
	Job       string // whose story is included; empty: none
	Metrics   func(context.Context) ([]byte, error)
	Since     time.Time // start of the logs
}

// parts returns the files of a bug report.
func (h Host) parts() []Part {
	slurm := func(name, about string, args ...string) Part {
		return Part{name, about, command(false, filepath.Join(h.BinDir, "scontrol"), args...)}
	}
	flex := func(name, about string, both bool, args ...string) Part {
		return Part{name, about, command(both, h.Slurmflex, append([]string{"--config", h.Config}, args...)...)}
	}
	return []Part{
		{"config.yaml", "configuration without secrets and comments", h.configuration},
		flex("config-check.txt", "slurmflex config check --live", true, "config", "check", "--live"),
		flex("version.txt", "slurmflex version", false, "version"),
		flex("status.json", "slurmflex status --json", false, "status", "--json"),
		flex("plan.json", "slurmflex plan --json", false, "plan", "--json"),
		{"job.txt", "slurmflex why JOB --story", h.job},
		{"metrics.txt", "the daemon's metrics", h.Metrics},
		{"journal.txt", "the journal since " + h.Since.Format(time.RFC3339), command(false, "journalctl",
			"--no-pager", "--output=short-iso", "--identifier=slurmflex", fmt.Sprintf("--since=@%d", h.Since.Unix()), fmt.Sprintf("--lines=%d", journalLines))},
		{"hooks.log", "the log file since " + h.Since.Format(time.RFC3339), h.logFile},
		slurm("slurm-config.txt", "scontrol show config", "show", "config"),
		slurm("slurm-nodes.txt", "scontrol show nodes", "--oneliner", "show", "nodes"),
		slurm("slurm-partitions.txt", "scontrol show partitions", "--oneliner", "show", "partitions"),
		slurm("slurm-jobs.txt", "scontrol show jobs", "--oneliner", "show", "jobs"),
		slurm("slurm-reservations.txt", "scontrol show reservations", "--oneliner", "show", "reservations"),
		{"unit.txt", "the daemon's unit and its state", command(true, "systemctl", "--no-pager", "--full", "status", "slurmflex.service")},
		{"files.txt", "owners and modes beside the configuration", command(true, "ls", "-la", filepath.Dir(h.Config))},
		{"system.txt", "the host's system", command(true, "cat", "/etc/os-release", "/proc/version")},
		{"trial.jsonl", "transcript of a trial", h.transcript},
	}
}

// journalLines is the number of the journal's newest lines that are read.
const journalLines = 50_000

// command returns the output of a command: both streams, or stdout with stderr as the error.
func command(both bool, program string, args ...string) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		cmd.WaitDelay = time.Second
		var out, complaints limited
		cmd.Stdout, cmd.Stderr = &out, &complaints
		if both {
			cmd.Stderr = &out
		}
		err := cmd.Run()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if says := strings.TrimSpace(complaints.kept.String()); says != "" {
			err = errors.Join(err, errors.New(says))
		}
		return out.kept.Bytes(), err
	}
}

// limited keeps the beginning of its input, up to one byte more than a part may have.
type limited struct{ kept bytes.Buffer }

func (l *limited) Write(b []byte) (int, error) {
	l.kept.Write(b[:min(len(b), sizeLimit+1-l.kept.Len())])
	return len(b), nil
}

// job returns the story of the job.
func (h Host) job(ctx context.Context) ([]byte, error) {
	if h.Job == "" {
		return nil, errors.New("name one with --job JOB")
	}
	return command(true, h.Slurmflex, "--config", h.Config, "why", h.Job, "--story")(ctx)
}

// configuration returns the configuration without secrets.
func (h Host) configuration(context.Context) ([]byte, error) {
	text, err := os.ReadFile(h.Config)
	if err != nil {
		return nil, err
	}
	return scrubYAML(text)
}

// logFile returns the lines of the log file since a time.
func (h Host) logFile(context.Context) ([]byte, error) {
	if h.LogFile == "" {
		return nil, errors.New("the configuration cannot be read")
	}
	f, err := os.OpenFile(h.LogFile, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-sizeLimit)
	text, err := io.ReadAll(io.NewSectionReader(f, from, sizeLimit))
	if err != nil {
		return nil, err
	}
	if from > 0 { // from may be in the middle of a line
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	if text = since(text, h.Since); len(text) == 0 {
		return nil, fmt.Errorf("%s lacks lines of that time", h.LogFile)
	}
	return text, nil
}

// since returns the lines from the first one at or after that time. Log lines have one of two
// forms: JSON with the time as "ts", or readable with the time first.
func since(text []byte, from time.Time) []byte {
	for rest := text; len(rest) > 0; {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		stamp, _, _ := bytes.Cut(line, []byte(" "))
		if _, value, isJSON := bytes.Cut(line, []byte(`"ts":"`)); isJSON {
			stamp, _, _ = bytes.Cut(value, []byte(`"`))
		}
		if at, err := time.Parse(time.RFC3339, string(stamp)); err == nil && !at.Before(from) {
			return rest
		}
		rest = after
	}
	return nil
}

// transcript returns the transcript of a trial. It refuses any other file.
func (h Host) transcript(context.Context) ([]byte, error) {
	if h.Trial == "" {
		return nil, errors.New("name one with --trial FILE; slurmflex trial --record FILE writes it")
	}
	text, err := os.ReadFile(h.Trial)
	if err != nil {
		return nil, err
	}
	if _, _, err := transcript.Read(bytes.NewReader(text)); err != nil {
		return nil, fmt.Errorf("%s is not a transcript: %w", h.Trial, err)
	}
	return text, nil
}

// Archive writes the archive of a cluster's host to a new file, which only its owner may read, and says
// what it holds. Without a name the file has the usual one. The cluster may be unknown.
func Archive(ctx context.Context, h Host, cluster, path string, now time.Time) (says string, err error) {
	path = cmp.Or(path, fmt.Sprintf("slurmflex-diag-%s-%s.tar.gz", cmp.Or(cluster, "unknown"), now.UTC().Format("20060102T150405Z")))
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("write the archive: %w; name another file with --output", err)
	}
	who := "unknown"
	if me, err := user.Current(); err == nil {
		who = me.Username
	}
	index := &Index{Title: fmt.Sprintf("slurmflex diag: cluster %s, %s, run by %s", cmp.Or(cluster, "unknown"), now.UTC().Format(time.RFC3339), who)}
	if err := errors.Join(Write(ctx, file, index, h.parts(), now), file.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("write the archive: %w", err), os.Remove(path))
	}
	return fmt.Sprintf("%s%s: nothing was uploaded; read it before you share it: names, addresses and unusual secrets remain\n", index, path), nil
}
