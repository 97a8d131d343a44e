package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	unitFolder = "/usr/lib/systemd/system"
	// daemonUnit is the one unit that the stand-in really starts and stops.
	daemonUnit = "slurmflex.service"
	// daemonLog has what the daemon would write into the journal.
	daemonLog = "/var/log/slurm/daemon.log"
)

// foreignUnits are those of Slurm and of the machine that a page may name.
var foreignUnits = []string{"slurmctld.service", "slurmd.service", "munge.service", "cron.service"}

// systemctl stands for the program of that name. The units must be there. Of
// what it is told to do it does only this: the daemon is started, stopped and
// reloaded, and slurmctld reads its configuration anew when it is restarted.
func systemctl(args []string) error {
	given, words := options(args)
	if len(words) == 0 {
		return errors.New("give a verb")
	}
	verb, units := words[0], words[1:]
	if _, now := given["now"]; now && verb == "enable" {
		verb = "start"
	} else if now && verb == "disable" {
		verb = "stop"
	}
	if verb == "daemon-reload" {
		return nil
	}
	if !slices.Contains([]string{"enable", "disable", "start", "stop", "restart", "reload", "status", "is-active"}, verb) || len(units) == 0 {
		return errors.New("give one of enable, disable, start, stop, restart, reload, status, is-active and a unit")
	}
	for _, name := range units {
		unit, err := findUnit(name)
		if err == nil {
			err = operate(verb, unit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findUnit returns the whole name of a unit that is there.
func findUnit(name string) (string, error) {
	if filepath.Ext(name) == "" {
		name += ".service"
	}
	if slices.Contains(foreignUnits, name) {
		return name, nil
	}
	if _, err := os.Stat(filepath.Join(unitFolder, name)); err != nil {
		return "", fmt.Errorf("there is no unit %s", name)
	}
	return name, nil
}

func operate(verb, unit string) error {
	switch {
	case unit == "slurmctld.service" && verb == "restart":
		return exec.Command("scontrol", "reconfigure").Run()
	case unit != daemonUnit:
		return nil
	case verb == "start":
		return startDaemon()
	case verb == "stop":
		return stopDaemon()
	case verb == "restart":
		return errors.Join(stopDaemon(), startDaemon())
	case verb == "reload":
		for _, pid := range daemons() {
			if err := unix.Kill(pid, unix.SIGHUP); err != nil {
				return err
			}
		}
	case verb == "status", verb == "is-active":
		if len(daemons()) == 0 {
			return fmt.Errorf("%s is not active", unit)
		}
		fmt.Println("active")
	}
	return nil
}

var execStart = regexp.MustCompile(`(?m)^ExecStart=(.+)$`)

// startDaemon starts what the unit says, and waits until it listens.
func startDaemon() error {
	text, err := os.ReadFile(filepath.Join(unitFolder, daemonUnit))
	if err != nil {
		return err
	}
	line := execStart.FindSubmatch(text)
	if line == nil {
		return fmt.Errorf("%s has no ExecStart", daemonUnit)
	}
	cred, err := credential("slurm")
	if err != nil {
		return err
	}
	log, err := os.OpenFile(daemonLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	argv := strings.Fields(string(line[1]))
	daemon := exec.Command(argv[0], argv[1:]...)
	daemon.Dir, daemon.Stdout, daemon.Stderr = "/", log, log
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: cred}
	if err := daemon.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- daemon.Wait() }()
	for deadline := time.After(10 * time.Second); ; {
		if _, err := os.Stat("/run/slurmflex/slurmflex.sock"); err == nil {
			return nil
		}
		select {
		case err := <-ended:
			return fmt.Errorf("the daemon ended: %v", err)
		case <-deadline:
			return errors.New("the daemon does not listen")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func stopDaemon() error {
	for _, pid := range daemons() {
		if err := unix.Kill(pid, unix.SIGTERM); err != nil {
			return err
		}
	}
	for deadline := time.Now().Add(20 * time.Second); len(daemons()) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			return errors.New("the daemon does not end")
		}
	}
	return nil
}

// daemons are the processes of this cluster's daemon.
func daemons() []int {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	lab := filepath.Dir(filepath.Dir(self)) + "/"
	var pids []int
	processes, _ := os.ReadDir("/proc")
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		words, _ := os.ReadFile(filepath.Join("/proc", p.Name(), "cmdline"))
		environment, _ := os.ReadFile(filepath.Join("/proc", p.Name(), "environ"))
		argv := strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")
		if filepath.Base(argv[0]) == "slurmflex" && argv[len(argv)-1] == "daemon" && bytes.Contains(environment, []byte(lab)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// journalctl stands for the program of that name, and shows what the daemon
// has written.
func journalctl(args []string) error {
	at := slices.Index(args, "-u")
	if at < 0 || at+1 >= len(args) {
		return errors.New("give -u UNIT")
	}
	unit, err := findUnit(args[at+1])
	if err != nil || unit != daemonUnit {
		return err
	}
	log, err := os.Open(daemonLog)
	if err != nil {
		return err
	}
	defer log.Close()
	_, err = io.Copy(os.Stdout, log)
	return err
}
