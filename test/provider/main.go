// Command provider checks that a program serves a region as docs/dev/provider.md describes. It uses
// slurmflex's own client, and prints a line for each check.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"slurmflex/mig/gce"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "provider:", err)
		os.Exit(1)
	}
}

// run checks the program at the endpoint that the arguments name.
func run(ctx context.Context, args []string, out io.Writer) error {
	s := suite{out: out}
	flags := flag.NewFlagSet("provider", flag.ContinueOnError)
	endpoint := flags.String("endpoint", "", "the program's address, such as http://127.0.0.1:8930")
	token := flags.String("token-file", "", "a file with the token for the program")
	project := flags.String("project", "demo", "the project in the paths of calls")
	flags.StringVar(&s.region, "region", "gke-us-central1", "the region to check")
	flags.StringVar(&s.template, "template", "a3", "the name of a template in the region")
	flags.DurationVar(&s.wait, "wait", time.Minute, "how long to wait for a machine; after that, the request is cancelled")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case *endpoint == "":
		return errors.New("no program to check: give --endpoint")
	}
	client, err := gce.New(ctx, gce.Options{
		Project: *project, Endpoint: *endpoint, Regions: []gce.Region{{Name: s.region, Endpoint: *endpoint, TokenFile: *token}},
	})
	if err != nil {
		return err
	}
	defer client.Close()
	s.client, s.project = client, *project
	s.group = fmt.Sprintf("conformance-a3-job-%d", os.Getpid())
	defer func() { // whatever was checked
		after, over := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer over()
		_ = client.DeleteGroup(after, s.region, s.group)
	}()
	s.check(ctx)
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	if s.failed > 0 {
		return fmt.Errorf("%s does not serve region %s as docs/dev/provider.md describes", *endpoint, s.region)
	}
	return ctx.Err()
}
