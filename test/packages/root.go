package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// root is a Debian in a folder.
type root struct {
	dir    string
	shared string // a folder that has the same path within
}

// copyFrom makes the root a copy of another one.
func (r root) copyFrom(ctx context.Context, base string) error {
	if _, err := os.Stat(filepath.Join(base, ".complete")); err != nil {
		return fmt.Errorf("no Debian in %s: run scripts/setup-debian-12 %[1]s", base)
	}
	if err := os.MkdirAll(r.shared, 0o755); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "cp", "-a", "--reflink=auto", base, r.dir).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", base, err, out)
	}
	return os.MkdirAll(filepath.Join(r.dir, r.shared), 0o755) // that which in-root mounts over
}

// command prepares a command in the root, with nothing of our environment.
func (r root) command(ctx context.Context, words ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "scripts/in-root", append([]string{r.dir, r.shared}, words...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}
	return cmd
}

// run runs a command in the root and returns what it printed to both outputs.
// It is an error if it ends with another code.
func (r root) run(ctx context.Context, code int, words ...string) (string, error) {
	out, err := r.command(ctx, words...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == code, err == nil && code == 0:
		return string(out), nil
	case err == nil:
		return "", fmt.Errorf("%s ended well, not with %d: %s", strings.Join(words, " "), code, oneLine(out))
	}
	return "", fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, oneLine(out))
}

// write writes a file in the root.
func (r root) write(path, text string, mode os.FileMode) error {
	path = filepath.Join(r.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

// kept are the folders where apt, dpkg, rpm and systemctl keep what they did.
var kept = []string{
	"/dev", "/proc", "/root/.rpmdb", "/run/systemd", "/tmp", "/var/cache", "/var/lib/apt", "/var/lib/dpkg", "/var/log/apt",
}

// files are the paths of all there is in the root, but for what is kept.
func (r root) files() (map[string]bool, error) {
	all := map[string]bool{}
	err := filepath.WalkDir(r.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		within := strings.TrimPrefix(path, r.dir)
		if entry.IsDir() && (slices.Contains(kept, within) || path == r.dir+r.shared) {
			return fs.SkipDir
		}
		all[within] = true
		return nil
	})
	return all, err
}

// difference names what is in one of the two only.
func difference(was, is map[string]bool) error {
	var all []string
	for path := range was {
		if !is[path] {
			all = append(all, path+" is missing")
		}
	}
	for path := range is {
		if !was[path] {
			all = append(all, path+" is left")
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return errors.New(strings.Join(all, "; "))
}

// contains checks that a text has all of the words.
func contains(text string, words []string) error {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return fmt.Errorf("%q is not in: %s", word, oneLine([]byte(text)))
		}
	}
	return nil
}

func oneLine(text []byte) string {
	return string(bytes.Join(bytes.Fields(text), []byte(" ")))
}

// sorted are the keys of a set.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
