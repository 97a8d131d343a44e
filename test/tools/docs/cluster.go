package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"slurmflex/test/lab"
	"slurmflex/test/must"
)

// cloneName is the folder in the scratch folder that stands for a clone of this repository.
const cloneName = "slurmflex"

// firstJob is the ID of a page's first job.
const firstJob = 812

// cluster is a page's cluster together with the root folder for the page's commands.
type cluster struct {
	*lab.Lab
	*root
	home string // scratch folder of the user who types
	cred *syscall.Credential
}

// installed lists files of this repository by the paths where packages install them.
var installed = map[string]string{
	"scripts/resume":                          "/usr/libexec/slurmflex/resume",
	"scripts/suspend":                         "/usr/libexec/slurmflex/suspend",
	"scripts/resume-fail":                     "/usr/libexec/slurmflex/resume-fail",
	"scripts/systemd/slurmflex.service":       "/usr/lib/systemd/system/slurmflex.service",
	"scripts/systemd/slurmflex-sync.service":  "/usr/lib/systemd/system/slurmflex-sync.service",
	"scripts/systemd/slurmflex-sync.timer":    "/usr/lib/systemd/system/slurmflex-sync.timer",
	"scripts/prometheus/slurmflex.rules.yaml": "/usr/share/slurmflex/prometheus/slurmflex.rules.yaml",
	"scripts/grafana/slurmflex.json":          "/usr/share/slurmflex/grafana/slurmflex.json",
	"scripts/logrotate/slurmflex":             "/etc/logrotate.d/slurmflex",
}

// standIns are the programs that a page's cluster cannot have.
var standIns = []string{
	"apt", "apt-get", "dnf", "systemctl", "journalctl", "gcloud", "terraform", "sudo", "make", "go",
	"nvidia-smi", "all_reduce_perf", "torchrun", "python3", "jupyter", "mail",
}

// start sets up a page's cluster. The caller must call Remove even if start fails.
func (c *cluster) start(ctx context.Context, s setting) {
	build := must.Get(filepath.Abs("build"))
	c.cred = must.Get(lab.Credential(cmp.Or(s.user, "root")))
	if s.bare {
		c.Lab = &lab.Lab{Dir: must.Get(os.MkdirTemp("", "slurmflex-docs-"))}
	} else {
		c.startLab(ctx, s.lab, build)
	}
	if s.leftover != "" {
		must.Do(c.CreateGroup(ctx, s.leftover, "", "a3"))
	}
	c.root = &root{}
	c.root.make(c.Lab.Dir)
	c.makeHome()
	c.furnish(build, s)
}

// makeHome creates the scratch folder and the clone.
func (c *cluster) makeHome() {
	c.home = filepath.Join(c.Lab.Dir, "home")
	must.Do(os.Mkdir(c.home, 0o755))
	must.Do(os.Symlink(must.Get(os.Getwd()), filepath.Join(c.home, cloneName)))
	must.Do(os.Chown(c.home, int(c.cred.Uid), int(c.cred.Gid)))
}

// startLab starts a lab with job IDs from firstJob, and its daemon.
func (c *cluster) startLab(ctx context.Context, o lab.Options, build string) {
	daemon := o.Daemon
	o.Build, o.Scripts, o.Name, o.Daemon = build, "scripts", "docs", false
	var err error
	c.Lab, err = lab.Start(ctx, o)
	must.Do(err)
	text := append(must.Get(os.ReadFile(c.Conf())), fmt.Sprintf("\nFirstJobId=%d\n", firstJob)...)
	must.Do(os.WriteFile(c.Conf(), text, 0o644))
	must.Get(c.Slurm(ctx, "scontrol", "reconfigure"))
	if daemon {
		must.Do(c.StartDaemon(ctx))
	}
}

// furnish fills the root folder with the files of an installed cluster.
func (c *cluster) furnish(build string, s setting) {
	at := func(path string) string { return filepath.Join(c.path, path) }
	for _, d := range []string{"/etc/slurmflex", "/etc/slurm"} {
		must.Do(os.MkdirAll(at(d), 0o755))
	}
	for _, program := range []string{"slurmflex", "slurmflex-trial", "slurmflex-fakegce"} {
		copyFile(filepath.Join(build, program), at("/usr/bin/"+program))
	}
	for from, to := range installed {
		copyFile(from, at(to))
	}
	must.Do(os.CopyFS(at("/usr/share/slurmflex/toolkit"), os.DirFS("scripts/toolkit")))
	copyFile("test/tools/docs/stand-in", filepath.Join(c.standInFolder(), "stand-in"))
	for _, name := range standIns {
		must.Do(os.Symlink("stand-in", filepath.Join(c.standInFolder(), name)))
	}
	if s.bare {
		return
	}
	for path, to := range map[string]string{
		"/etc/slurm/slurm.conf": c.Conf(), configPath: c.Config(), "/run/slurmflex": filepath.Join(c.Lab.Dir, "run"),
	} {
		_ = os.Remove(at(path))
		must.Do(os.Symlink(to, at(path)))
	}
	c.bind(filepath.Join(c.Lab.Dir, "log"), "/var/log/slurm")
}

// standInFolder returns the folder of the stand-ins. It is in the cluster's own folder, so
// that jobs can use it.
func (c *cluster) standInFolder() string { return filepath.Join(c.Lab.Dir, "stand-ins") }

// copyFile copies a file and makes it readable for all users, whatever the umask.
func copyFile(from, to string) {
	text, info := must.Get(os.ReadFile(from)), must.Get(os.Stat(from))
	must.Do(os.MkdirAll(filepath.Dir(to), 0o755))
	mode := os.FileMode(0o644)
	if info.Mode()&0o100 != 0 {
		mode = 0o755
	}
	_ = os.Remove(to)
	// While this file is open for writing, no other page may fork a command: the child would
	// inherit the file, and exec would find the file busy.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	must.Do(os.WriteFile(to, text, mode))
}

// command prepares a program to run as the page's user.
func (c *cluster) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = []string{
		"PATH=" + c.standInFolder() + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + c.home, "TERM=dumb", "LANG=C.UTF-8",
	}
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: c.path, Credential: c.cred, Setsid: true}
	cmd.WaitDelay = time.Second
	return cmd
}

// Remove ends the cluster and deletes its folders.
func (c *cluster) Remove() error {
	if c.Lab != nil {
		c.Stop()
	}
	if err := c.root.Remove(); err != nil {
		return err
	}
	if c.Lab != nil {
		c.Lab.Remove()
	}
	return nil
}
