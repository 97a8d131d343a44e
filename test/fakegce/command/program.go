package command

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"slurmflex/test/fakegce"
)

// program returns a hook that runs the program at path for an instance. The hook does not wait
// for the program, which may run as long as the instance does.
func program(path string, stderr io.Writer) func(fakegce.Instance) {
	return func(v fakegce.Instance) {
		c := exec.Command(path, v.Name)
		c.Env = append(os.Environ(),
			"INSTANCE_NAME="+v.Name, "INSTANCE_ZONE="+v.Zone,
			"INSTANCE_GROUP="+v.Group, "INSTANCE_TEMPLATE="+v.Template)
		c.Stdout, c.Stderr = stderr, stderr
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		report := func(err error) {
			if err != nil {
				fmt.Fprintf(stderr, "slurmflex-fakegce: %s %s: %v\n", path, v.Name, err)
			}
		}
		if err := c.Start(); err != nil {
			report(err)
			return
		}
		go func() { report(c.Wait()) }()
	}
}
