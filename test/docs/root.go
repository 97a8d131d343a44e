package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// root is this machine's root folder as a page sees it: what the page changes
// in it is kept apart, and goes with it.
type root struct {
	dir    string // of everything
	path   string // the root folder itself
	mounts []string
}

// newRoot makes a root folder that has the given folders, the devices and the
// processes in common with the machine. Remove must be called even if it fails.
func newRoot(common ...string) (*root, error) {
	dir, err := os.MkdirTemp("", "slurmflex-docs-root-")
	if err != nil {
		return nil, err
	}
	r := &root{dir: dir, path: filepath.Join(dir, "root")}
	upper, work := filepath.Join(dir, "upper"), filepath.Join(dir, "work")
	for _, d := range []string{r.path, upper, work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return r, err
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return r, err
	}
	options := fmt.Sprintf("lowerdir=/,upperdir=%s,workdir=%s", upper, work)
	if err := r.mount("overlay", r.path, "overlay", 0, options); err != nil {
		return r, err
	}
	for _, d := range append([]string{"/proc", "/dev"}, common...) {
		if err := r.bind(d, d); err != nil {
			return r, err
		}
	}
	return r, nil
}

// bind shows a folder of the machine at a path of the root folder.
func (r *root) bind(from, at string) error {
	to := filepath.Join(r.path, at)
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	return r.mount(from, to, "", unix.MS_BIND, "")
}

func (r *root) mount(from, to, kind string, flags uintptr, options string) error {
	if err := unix.Mount(from, to, kind, flags, options); err != nil {
		return fmt.Errorf("mount %s on %s: %w", from, to, err)
	}
	r.mounts = append(r.mounts, to)
	return nil
}

// Remove takes the root folder away. It deletes nothing that is still mounted.
func (r *root) Remove() error {
	if r == nil {
		return nil
	}
	for _, at := range slices.Backward(r.mounts) {
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", at, err)
		}
	}
	return errors.Join(os.Remove(r.path), os.RemoveAll(filepath.Join(r.dir, "upper")),
		os.RemoveAll(filepath.Join(r.dir, "work")), os.Remove(r.dir))
}
