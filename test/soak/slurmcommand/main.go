// Command slurmcommand stands for scontrol, squeue and scancel in the soak: it
// is called by a link of that name, hands its arguments to the soak's slurmctld
// by the socket that lies beside the link, and prints the answer. It is small,
// because it is run hundreds of thousands of times.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
)

func main() { os.Exit(run(os.Args, os.Stdout, os.Stderr)) }

// run prints the answer, on stderr if it is that the command failed, and
// returns the exit status.
func run(args []string, out, complaints io.Writer) (status int) {
	failed, text, err := ask(args)
	switch {
	case err != nil:
		fmt.Fprintf(complaints, "%s: error: %v\n", filepath.Base(args[0]), err)
		return 1
	case failed:
		fmt.Fprintln(complaints, text)
		return 1
	}
	fmt.Fprint(out, text)
	return 0
}

// ask hands over the name of the program and its arguments, with a zero byte
// between each two. The first byte of the answer is 0 for a command that was
// obeyed; the rest is what to print.
func ask(args []string) (failed bool, text string, err error) {
	dir, program := filepath.Split(args[0])
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(dir, "slurmctld.sock"), Net: "unix"})
	if err != nil {
		return false, "", err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, strings.Join(append([]string{program}, args[1:]...), "\x00")); err != nil {
		return false, "", err
	}
	if err := conn.CloseWrite(); err != nil {
		return false, "", err
	}
	answer, err := io.ReadAll(conn)
	if err == nil && len(answer) == 0 {
		err = errors.New("no answer")
	}
	if err != nil {
		return false, "", err
	}
	return answer[0] != 0, string(answer[1:]), nil
}
