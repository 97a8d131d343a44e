// Command packages builds the Debian package and the RPM, and installs, uses,
// upgrades and removes them in a Debian 12 that is thrown away. It runs as root
// in the repository's root:
//
//	packages --base FOLDER --scratch FOLDER
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// limit bounds the whole; it takes about a minute once Debian is set up.
const limit = 10 * time.Minute

func main() {
	base := flag.String("base", "/var/tmp/slurmflex/bookworm", "`folder` of a Debian 12, as scripts/setup-debian-12 makes it")
	scratch := flag.String("scratch", "/var/tmp/slurmflex/packages", "`folder` to work in, removed before and after")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, limit)
	err := try(ctx, *base, *scratch)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

// try makes the packages and goes through all checks. One that fails does not
// stop the others of its part.
func try(ctx context.Context, base, scratch string) error {
	if _, err := os.Stat("scripts/package/nfpm.yaml"); err != nil {
		return fmt.Errorf("%w; run it in the repository's root", err)
	}
	if err := os.RemoveAll(scratch); err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return err
	}
	made, err := makePackages(ctx, scratch)
	if err != nil {
		return err
	}
	r := root{dir: filepath.Join(scratch, "root"), shared: filepath.Join(scratch, "shared")}
	if err := r.copyFrom(ctx, base); err != nil {
		return err
	}
	t := &trial{ctx: ctx, root: r, packages: made}
	t.reproducible()
	t.debian()
	t.rpm()
	fmt.Println(t.verdict())
	if len(t.wrong) > 0 {
		return errors.New("the above is wrong")
	}
	return nil
}
