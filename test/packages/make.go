package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// packages are the files that scripts/package/build makes.
type packages struct {
	deb, rpm       string
	oldDeb, oldRPM string // of a lower version
	again          [2]string
}

// lower is a version that is lower than that of any build.
const lower = "0.0.0~0"

// makePackages makes the packages, in a copy of the repository once more, and
// those of a lower version.
func makePackages(ctx context.Context, scratch string) (packages, error) {
	var p packages
	first, second := filepath.Join(scratch, "first"), filepath.Join(scratch, "elsewhere", "second")
	if err := copyRepository(ctx, ".", first); err != nil { // what is edited meanwhile is no difference
		return p, err
	}
	if err := copyRepository(ctx, first, second); err != nil {
		return p, err
	}
	for _, build := range []struct {
		repository, version string
		deb, rpm            *string
	}{
		{first, "", &p.deb, &p.rpm},
		{second, "", &p.again[0], &p.again[1]},
		{first, lower, &p.oldDeb, &p.oldRPM},
	} {
		out, err := os.MkdirTemp(scratch, "made-")
		if err != nil {
			return p, err
		}
		if err := buildPackages(ctx, build.repository, out, build.version); err != nil {
			return p, err
		}
		if *build.deb, err = onlyFile(out, "*.deb"); err != nil {
			return p, err
		}
		if *build.rpm, err = onlyFile(out, "*.rpm"); err != nil {
			return p, err
		}
	}
	return p, nil
}

func buildPackages(ctx context.Context, repository, out, version string) error {
	args := []string{out}
	if version != "" {
		args = append(args, version)
	}
	cmd := exec.CommandContext(ctx, "scripts/package/build", args...)
	cmd.Dir = repository
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("scripts/package/build: %w: %s", err, text)
	}
	return nil
}

// copyRepository copies a repository as it is, but for what was built, with
// another umask and other times of its files.
func copyRepository(ctx context.Context, from, to string) error {
	const script = `set -e
umask 077
mkdir -p "$1"
tar -c --exclude ./build . | tar -x -C "$1" --touch --no-same-permissions`
	cmd := exec.CommandContext(ctx, "bash", "-c", script, "copy", to)
	cmd.Dir = from
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("copy the repository: %w: %s", err, text)
	}
	return nil
}

// onlyFile is the one file in a folder whose name is so.
func onlyFile(dir, pattern string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%d files %s in %s, not one", len(found), pattern, dir)
	}
	return found[0], nil
}

func (t *trial) reproducible() {
	const what = "made in another folder, with another umask and files of another time, it has the same bytes"
	t.part = ".deb"
	t.check(what, same(t.packages.deb, t.packages.again[0]))
	t.part = ".rpm"
	t.check(what, same(t.packages.rpm, t.packages.again[1]))
}

func same(a, b string) error {
	x, err := os.ReadFile(a)
	if err != nil {
		return err
	}
	y, err := os.ReadFile(b)
	if err != nil {
		return err
	}
	switch {
	case filepath.Base(a) != filepath.Base(b):
		return fmt.Errorf("%s is not %s", filepath.Base(a), filepath.Base(b))
	case !bytes.Equal(x, y):
		return errors.New("they differ")
	}
	return nil
}
