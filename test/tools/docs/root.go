package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"slurmflex/test/must"
)

// root is this machine's root folder as a page sees it. A page's changes are kept separate and
// are deleted with root.
type root struct {
	dir    string // folder of all data
	path   string // the page's root folder
	mounts []string
}

// make creates a root folder that shares the given folders, the devices and the processes with
// the machine. The caller must call Remove even if make fails.
func (r *root) make(common ...string) {
	r.dir = must.Get(os.MkdirTemp("", "slurmflex-docs-root-"))
	r.path = filepath.Join(r.dir, "root")
	upper, work := filepath.Join(r.dir, "upper"), filepath.Join(r.dir, "work")
	for _, d := range []string{r.path, upper, work} {
		must.Do(os.Mkdir(d, 0o755))
	}
	must.Do(os.Chmod(r.dir, 0o755))
	r.mount("overlay", r.path, "overlay", 0, fmt.Sprintf("lowerdir=/,upperdir=%s,workdir=%s", upper, work))
	for _, d := range append([]string{"/proc", "/dev"}, common...) {
		r.bind(d, d)
	}
}

// bind mounts a folder of the machine at a path in the root folder.
func (r *root) bind(from, at string) {
	to := filepath.Join(r.path, at)
	must.Do(os.MkdirAll(to, 0o755))
	r.mount(from, to, "", unix.MS_BIND, "")
}

func (r *root) mount(from, to, kind string, flags uintptr, options string) {
	if err := unix.Mount(from, to, kind, flags, options); err != nil {
		must.Do(fmt.Errorf("mount %s on %s: %w", from, to, err))
	}
	r.mounts = append(r.mounts, to)
}

// Remove deletes the root folder. It deletes nothing that is still mounted.
func (r *root) Remove() error {
	if r == nil || r.dir == "" {
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
