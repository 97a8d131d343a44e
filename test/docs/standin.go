package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// standIns are the programs that a page's cluster cannot have. Each checks what
// it is given and does nothing, but for the few that say so.
var standIns = map[string]func(args []string) error{
	"apt":             packages("update", "install", "remove", "purge"),
	"apt-get":         packages("update", "install", "remove", "purge"),
	"dnf":             packages("install", "remove", "upgrade"),
	"systemctl":       systemctl,
	"journalctl":      journalctl,
	"gcloud":          gcloud,
	"terraform":       terraform,
	"sudo":            sudo,
	"make":            makeTargets,
	"go":              goCommand,
	"nvidia-smi":      echo("nvidia-smi"),
	"all_reduce_perf": echo("all_reduce_perf"),
	"torchrun":        echo("torchrun"),
	"python3":         echo("python3"),
}

func isStandIn(name string) bool {
	_, is := standIns[name]
	return is
}

// standIn is the program of that name; it returns its exit code.
func standIn(name string, args []string) int {
	err := standIns[name](args)
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended):
		return ended.ExitCode()
	}
	fmt.Fprintf(os.Stderr, "stand-in for %s %s: %v\n", name, strings.Join(args, " "), err)
	return 1
}

// echo stands for a program on the nodes, and writes what it was called with.
func echo(name string) func([]string) error {
	return func(args []string) error {
		fmt.Println(name, strings.Join(args, " "))
		return nil
	}
}

// packageFile is a package of ours, as make packages names it.
var packageFile = regexp.MustCompile(`^(\./|build/)slurmflex[-_][0-9A-Za-z.*~+_-]*\.(deb|rpm)$`)

// packages stands for a package manager: what it installs must be a package of
// ours or one of Slurm's.
func packages(verbs ...string) func([]string) error {
	return func(args []string) error {
		_, words := options(args)
		if len(words) == 0 || !slices.Contains(verbs, words[0]) {
			return fmt.Errorf("give one of %s", strings.Join(verbs, ", "))
		}
		for _, name := range words[1:] {
			ours := name == "slurmflex" || packageFile.MatchString(name)
			if !ours && !strings.HasPrefix(name, "slurm") && name != "munge" {
				return fmt.Errorf("%s is neither a package of ours nor one of Slurm's", name)
			}
		}
		return nil
	}
}

// options takes the options, such as --file=a, from the other words. An option
// without a value has an empty one.
func options(args []string) (given map[string]string, words []string) {
	given = make(map[string]string)
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			words = append(words, a)
			continue
		}
		name, value, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		given[name] = value
	}
	return given, words
}

// terraform stands for the program of that name: the folder must have its files.
func terraform(args []string) error {
	given, words := options(args)
	if len(words) != 1 || !slices.Contains([]string{"init", "plan", "apply", "validate", "destroy"}, words[0]) {
		return errors.New("give one of init, plan, apply, validate, destroy")
	}
	dir := given["chdir"]
	if files, _ := filepath.Glob(filepath.Join(dir, "*.tf")); len(files) == 0 {
		return fmt.Errorf("folder %q has no *.tf", dir)
	}
	if file, ok := given["var-file"]; ok {
		_, err := os.Stat(filepath.Join(dir, file))
		return err
	}
	return nil
}

var makeTarget = regexp.MustCompile(`(?m)^([a-z0-9.-]+):.*## `)

// makeTargets stands for make: the targets must be there, in this repository or
// in the clone of it that a scratch folder has.
func makeTargets(args []string) error {
	text, err := os.ReadFile("Makefile")
	if errors.Is(err, fs.ErrNotExist) {
		text, err = os.ReadFile(cloneName + "/Makefile")
	}
	if err != nil {
		return err
	}
	var known []string
	for _, target := range makeTarget.FindAllStringSubmatch(string(text), -1) {
		known = append(known, target[1])
	}
	for _, word := range args {
		name, _, isVariable := strings.Cut(word, "=")
		switch {
		case isVariable && !strings.Contains(string(text), "{"+name) && !strings.Contains(string(text), "("+name+")"):
			return fmt.Errorf("the Makefile has no variable %s", name)
		case !isVariable && !slices.Contains(known, word):
			return fmt.Errorf("the Makefile has no target %s", word)
		}
	}
	return nil
}

// sudo runs a command, as root or with -u NAME as that user.
func sudo(args []string) error {
	name := ""
	if len(args) > 1 && args[0] == "-u" {
		name, args = args[1], args[2:]
	}
	if len(args) == 0 {
		return errors.New("give a command")
	}
	cred, err := credential(name)
	if err != nil {
		return err
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	return cmd.Run()
}
