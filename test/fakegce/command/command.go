// Package command implements slurmflex-fakegce, the fake Compute Engine as a command.
package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageError reports a wrong flag or argument.
type usageError struct{ error }

// ExitCode returns 2 for wrong usage and 1 for other failures.
func ExitCode(err error) int {
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

const help = `A fake Compute Engine: regional managed instance groups, resize requests,
instances, templates, resource policies and their operations, with Google's paths
and bodies (http://ADDRESS/compute/v1/projects/PROJECT/...). Other methods answer 501.
As at Google, calls must carry an access token, which http://ADDRESS/token gives for
the key of --key; --token "" lets curl do without.

The programs of --boot-command and --delete-command are run, without a shell and
in a session of their own, with the instance's name as the argument and
INSTANCE_NAME, INSTANCE_ZONE, INSTANCE_GROUP and INSTANCE_TEMPLATE in their
environment, when an instance enters RUNNING and when it leaves it.

Inspect and change its state under /fake/:

  curl ADDRESS/fake/state                      everything that exists
  curl ADDRESS/fake/calls                      the calls of the API so far
  curl ADDRESS/fake/capacity -d '{"zone":"us-central1-a","machineType":"a3-highgpu-8g","count":4}'
       ("" means every zone or type; -1 is no limit; with "model":"SPOT", STANDARD or FLEX_START
        it is of these alone)
  curl ADDRESS/fake/zones -d '{"zone":"us-central1-a","up":false}'    the zone is DOWN: it gives nothing
  curl ADDRESS/fake/zones -d '{"zone":"us-central1-a","dead":true}'   the zone is dead: calls about it and lists of it fail
  curl ADDRESS/fake/withdraw -d '{"zone":"us-central1-a","machineType":"a3-highgpu-8g"}'
       (the zone does not have the type any more)
  curl ADDRESS/fake/reservations -d '{"name":"r","zone":"us-central1-a","machineType":"a3-highgpu-8g","count":2}'
       (consumed by instances that name it: a SPECIFIC_RESERVATION)
  curl ADDRESS/fake/quota -d '{"region":"us-central1","metric":"PREEMPTIBLE_NVIDIA_H100_GPUS","limit":16}'
       (also NVIDIA_H100_GPUS, that of instances on demand, and so on; with "region":"" and
        CONCURRENT_OPERATIONS it is that of global operations)
  curl ADDRESS/fake/faults -d '{"method":"instances.*","status":503,"times":3}'
       (also: object, skip, delay, drop, dropAfter, reason, message, lag,
        operationError {code, message}, unreachable ["us-central1"], and of lists
        doubled, endless "alternating" or "new", broken {name, field, value}, omitted, warning)
  curl -X DELETE ADDRESS/fake/faults           disarm them all
  curl ADDRESS/fake/fail -d '{"group":"g","request":"r","code":"QUOTA_EXCEEDED","message":"none left"}'
  curl ADDRESS/fake/advance -d '{"duration":"1h"}'     advance the clock
  curl -X POST ADDRESS/fake/vms/NAME/delete    delete the instance without an operation
  curl -X POST ADDRESS/fake/vms/NAME/stop      stopped, as in a crash
  curl -X POST ADDRESS/fake/vms/NAME/preempt   Compute takes a Spot instance back
  curl ADDRESS/fake/vms/NAME/lease -d '{"left":"90s"}'  end its lease then
  curl ADDRESS/fake/vms/NAME/maintenance -d '{"in":"1h", "lasts":"2h"}'  announce maintenance of its host
  curl ADDRESS/fake/vms/NAME/same-host -d ''           later VMs of that name run on its host
  curl ADDRESS/fake/vms/NAME/host-error -d '{"repair":"5m"}'  its host fails: REPAIRING, then TERMINATED`

// New returns the command.
func New() *cobra.Command {
	var s settings
	c := &cobra.Command{
		Use:           "slurmflex-fakegce",
		Short:         "A fake Compute Engine for tests and demonstrations",
		Long:          help,
		Example:       "  slurmflex-fakegce --listen 127.0.0.1:8900 --template a3=a3-highgpu-8g@us-central1 --boot-time 5s",
		SilenceErrors: true, SilenceUsage: true,
		Args: func(c *cobra.Command, args []string) error {
			if err := cobra.NoArgs(c, args); err != nil {
				return usageError{fmt.Errorf("%w; slurmflex-fakegce takes only flags", err)}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if s.compare != "" {
				return compareWith(c.OutOrStdout(), s.compare)
			}
			return run(c, s)
		},
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if wrong := new(pflag.InvalidValueError); errors.As(err, &wrong) {
			err = fmt.Errorf("--%s does not take %q", wrong.GetFlag().Name, wrong.GetValue())
		}
		return usageError{fmt.Errorf("%w; see --help", err)}
	})
	s.register(c.Flags())
	return c
}

// run serves until the command's context ends.
func run(c *cobra.Command, s settings) error {
	server, err := s.server(c.ErrOrStderr())
	if err != nil {
		return usageError{err}
	}
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w; choose another address with --listen", s.listen, err)
	}
	if err := s.writeKey("http://" + listener.Addr().String()); err != nil {
		return fmt.Errorf("--key: %w", err)
	}
	calls, cancelCalls := context.WithCancel(context.Background())
	defer cancelCalls()
	web := &http.Server{
		Handler: server, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return calls },
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	fmt.Fprintf(c.OutOrStdout(), "slurmflex-fakegce: project %s at http://%s\n", s.options.Project, listener.Addr())
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-c.Context().Done():
	}
	cancelCalls() // ends waiting calls
	grace, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := web.Shutdown(grace); err != nil {
		return fmt.Errorf("shut down: %w", err)
	}
	return nil
}
