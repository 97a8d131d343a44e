package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"slurmflex/test/fakegce"
)

// settings are the command's flags.
type settings struct {
	listen        string
	options       fakegce.Options
	capacity      int
	templates     []string
	manualClock   bool
	bootCommand   string
	deleteCommand string
	compare       string
	key           string
}

func (s *settings) register(f *pflag.FlagSet) {
	o := &s.options
	f.StringVar(&s.listen, "listen", "127.0.0.1:8900", "`address` to listen on; port 0 takes a free one")
	f.StringVar(&o.Project, "project", "demo", "the only `project`")
	f.StringSliceVar(&o.Zones, "zones", fakegce.DefaultZones(), "the `zones`; their regions follow from them")
	f.DurationVar(&o.OperationTime, "operation-time", time.Second, "time that an operation takes")
	f.DurationVar(&o.AttemptInterval, "attempt-interval", fakegce.DefaultAttemptInterval, "time between a request's attempts")
	f.DurationVar(&o.BootTime, "boot-time", 3*time.Second, "time from PROVISIONING to RUNNING")
	f.DurationVar(&o.DeleteTime, "delete-time", time.Second, "time from STOPPING to gone")
	f.StringVar(&o.Token, "token", fakegce.AnyToken, "access `token` that each call must carry, as Authorization: Bearer TOKEN; any: whichever; \"\": calls need none")
	f.StringVar(&s.key, "key", "", "write the key of a service account, slurmflex's google_app_cred_path, to a `file`")
	f.IntVar(&s.capacity, "capacity", -1, "`VMs` of each machine type that fit into each zone; -1: no limit")
	f.StringArrayVar(&s.templates, "template", nil, "create a flex-start template: `NAME=MACHINETYPE[@REGION]`; may be repeated")
	f.BoolVar(&s.manualClock, "manual-clock", false, "stop the clock; only /fake/advance moves it")
	f.StringVar(&s.bootCommand, "boot-command", "", "absolute `path` of the program to run when an instance boots")
	f.StringVar(&s.compare, "compare", "", "do not listen; send the calls of a transcript, a `file` that slurmflex-trial --record wrote, to a fake and print where its answers differ")
	f.StringVar(&s.deleteCommand, "delete-command", "", "absolute `path` of the program to run when an instance is deleted")
}

// server returns the fake that the settings describe. Hook failures are written to stderr.
func (s *settings) server(stderr io.Writer) (*fakegce.Server, error) {
	if s.manualClock {
		s.options.Clock = fakegce.NewManualClock(time.Now())
	}
	for _, hook := range []struct {
		flag, path string
		call       *func(fakegce.Instance)
	}{
		{"--boot-command", s.bootCommand, &s.options.OnBoot},
		{"--delete-command", s.deleteCommand, &s.options.OnDelete},
	} {
		if hook.path == "" {
			continue
		}
		if !filepath.IsAbs(hook.path) {
			return nil, fmt.Errorf("%s %s: the path must be absolute", hook.flag, hook.path)
		}
		*hook.call = program(hook.path, stderr)
	}
	server := fakegce.New(s.options)
	server.SetCapacity("", "", s.capacity)
	for _, t := range s.templates {
		if err := addTemplate(server, t); err != nil {
			return nil, fmt.Errorf("--template %s: %w", t, err)
		}
	}
	return server, nil
}

// addTemplate adds the flex-start template described by NAME=MACHINETYPE[@REGION].
func addTemplate(server *fakegce.Server, text string) error {
	name, rest, ok := strings.Cut(text, "=")
	machineType, region, _ := strings.Cut(rest, "@")
	if !ok || name == "" || machineType == "" {
		return fmt.Errorf("write it NAME=MACHINETYPE or NAME=MACHINETYPE@REGION")
	}
	_, err := server.AddTemplate(region, fakegce.FlexTemplate(name, machineType))
	return err
}

// writeKey writes the requested key file, readable only by its owner.
func (s *settings) writeKey(address string) error {
	if s.key == "" {
		return nil
	}
	key, err := fakegce.ServiceAccountKey(s.options.Project, address)
	if err != nil {
		return err
	}
	return os.WriteFile(s.key, key, 0o600)
}
