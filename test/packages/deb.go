package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// conffiles are the files whose changes an upgrade keeps.
var conffiles = []string{"/etc/cron.d/slurmflex", "/etc/logrotate.d/slurmflex"}

// debian goes through the life of the .deb.
func (t *trial) debian() {
	t.part = ".deb"
	clean, err := t.root.files()
	if err != nil {
		t.check("the root can be read", err)
		return
	}
	t.install("where there is no Slurm it is installed, and says what is missing", t.packages.oldDeb, "there is no user slurm")
	t.says("without having been used it is purged", 0, nil, "apt-get", "purge", "-q", "-y", "slurmflex")
	t.check("then nothing is left", t.left(clean))

	t.says("there is a SlurmUser with a folder for its logs", 0, nil, "sh", "-c",
		"useradd --system --no-create-home slurm && install -d -o slurm -g slurm /var/log/slurm")
	if clean, err = t.root.files(); err != nil {
		t.check("the root can be read", err)
		return
	}
	t.install("it is installed", t.packages.oldDeb)
	t.installed()
	t.used("dpkg")
	t.upgrade(func() { t.install("it is upgraded", t.packages.deb) })
	t.says("what is installed is the newer one", 0, nil, "sh", "-c", "dpkg-query -W -f '${Version}' slurmflex | grep -qv '^"+lower+"'")

	t.says("the daemon is enabled", 0, nil, "systemctl", "enable", "slurmflex")
	t.says("it is removed", 0, nil, "apt-get", "remove", "-q", "-y", "slurmflex")
	t.check("the daemon is not enabled any more", t.gone("/etc/systemd/system/multi-user.target.wants/slurmflex.service"))
	t.check("the configuration stays", t.there("/etc/slurmflex/config.yaml", conffiles[0]))
	t.says("it is purged", 0, nil, "apt-get", "purge", "-q", "-y", "slurmflex")
	t.check("then nothing is left, the log neither", t.left(clean))
}

func (t *trial) install(what, deb string, words ...string) {
	within, err := t.share(deb)
	if err != nil {
		t.check(what, err)
		return
	}
	t.says(what, 0, words, "apt-get", "install", "-q", "-y", "--no-install-recommends",
		"-o", "Dpkg::Options::=--force-confold", within)
}

// share puts a file where the root sees it.
func (t *trial) share(file string) (within string, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	within = filepath.Join(t.root.shared, filepath.Base(file))
	return within, os.WriteFile(within, data, 0o644)
}

// installed checks what the packages put where, and as whose.
func (t *trial) installed() {
	modes := map[string]string{
		"/usr/bin/slurmflex":                           "755 root root",
		"/usr/libexec/slurmflex/slurmflex-hook":        "755 root root",
		"/usr/libexec/slurmflex/resume":                "755 root root",
		"/etc/slurmflex":                               "755 root root",
		"/etc/cron.d/slurmflex":                        "644 root root",
		"/etc/logrotate.d/slurmflex":                   "644 root root",
		"/run/slurmflex":                               "700 slurm slurm",
		"/usr/lib/systemd/system/slurmflex.service":    "644 root root",
		"/usr/lib/tmpfiles.d/slurmflex.conf":           "644 root root",
		"/usr/share/slurmflex/iam":                     "755 root root",
		"/usr/share/slurmflex/terraform/main.tf":       "644 root root",
		"/usr/share/doc/slurmflex/README.md":           "644 root root",
		"/usr/share/doc/slurmflex/copyright":           "644 root root",
		"/usr/share/doc/slurmflex/docs/status.md":      "644 root root",
		"/usr/share/slurmflex/iam/slurmflex-role.yaml": "644 root root",
	}
	for _, path := range sorted(modes) {
		t.says(path+" is "+modes[path], 0, []string{modes[path]}, "stat", "-c", "%a %U %G", path)
	}
	for _, hook := range []string{"suspend", "resume-fail"} {
		t.says(hook+" is resume", 0, []string{"resume"}, "readlink", "/usr/libexec/slurmflex/"+hook)
	}
	t.says("nothing runs before its configuration is written", 1, []string{"disabled"}, "systemctl", "is-enabled", "slurmflex.service")
	t.says("cron does nothing yet", 1, nil, "grep", "-v", "^#", "/etc/cron.d/slurmflex")
	t.says("the timer and the services are right", 0, nil, "systemd-analyze", "verify", "--man=yes",
		"/usr/lib/systemd/system/slurmflex.service", "/usr/lib/systemd/system/slurmflex-sync.timer")
	t.says("systemd makes the folder of the socket", 0, nil, "systemd-tmpfiles", "--create", "slurmflex.conf")
	t.says("logrotate takes its file", 0, nil, "logrotate", "--debug", "/etc/logrotate.d/slurmflex")
	t.check("the documents that README.md links to are there", t.links())
}

// links checks that the documents that README.md links to are installed.
func (t *trial) links() error {
	const docs = "/usr/share/doc/slurmflex"
	text, err := os.ReadFile(filepath.Join(t.root.dir, docs, "README.md"))
	if err != nil {
		return err
	}
	for _, part := range strings.Split(string(text), "](")[1:] {
		link, _, _ := strings.Cut(part, ")")
		link, _, _ = strings.Cut(link, "#")
		if strings.HasPrefix(link, "docs/") {
			err = errors.Join(err, t.there(filepath.Join(docs, link)))
		}
	}
	return err
}

// upgrade checks that what the admin changed outlives an upgrade.
func (t *trial) upgrade(do func()) {
	const mark = "# changed by the admin\n"
	files := append([]string{"/etc/slurmflex/config.yaml"}, conffiles...)
	for _, path := range files {
		text, err := os.ReadFile(filepath.Join(t.root.dir, path))
		if err == nil {
			err = t.root.write(path, string(text)+mark, 0o644)
		}
		if err != nil {
			t.check(path+" can be changed", err)
		}
	}
	do()
	for _, path := range files {
		text, err := os.ReadFile(filepath.Join(t.root.dir, path))
		if err == nil && !strings.HasSuffix(string(text), mark) {
			err = errors.New("the change is lost")
		}
		t.check("the upgrade keeps "+path, err)
	}
}

func (t *trial) there(paths ...string) error {
	for _, path := range paths {
		if _, err := os.Lstat(filepath.Join(t.root.dir, path)); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) gone(path string) error {
	if t.there(path) == nil {
		return fmt.Errorf("%s is there", path)
	}
	return nil
}

// left checks that the root is as it was.
func (t *trial) left(was map[string]bool) error {
	is, err := t.root.files()
	if err != nil {
		return err
	}
	return difference(was, is)
}
