package main

import "path/filepath"

// rpm goes through the life of the RPM, in a Debian whose rpm knows of no
// other packages.
func (t *trial) rpm() {
	t.part = ".rpm"
	clean, err := t.root.files()
	if err != nil {
		t.check("the root can be read", err)
		return
	}
	old, err := t.share(t.packages.oldRPM)
	if err != nil {
		t.check("it can be read", err)
		return
	}
	newer, err := t.share(t.packages.rpm)
	if err != nil {
		t.check("it can be read", err)
		return
	}
	t.says("it is whole", 0, []string{"digests OK"}, "rpm", "-K", old)
	t.says("its configuration is marked so", 0, conffiles, "rpm", "-qpc", old)
	rpm := func(args ...string) []string { return append([]string{"rpm", "--force-debian", "--nodeps"}, args...) }
	t.says("it is installed", 0, nil, rpm("-i", old)...)
	t.installed()
	t.used("rpm")
	t.upgrade(func() { t.says("it is upgraded", 0, nil, rpm("-U", newer)...) })
	t.says("what is installed is the newer one", 0, []string{filepath.Base(newer)}, "sh", "-c", "echo $(rpm -q slurmflex).rpm")
	t.says("it is removed", 0, nil, rpm("-e", "slurmflex")...)
	t.check("what the admin wrote stays", t.there("/etc/slurmflex/config.yaml", conffiles[0]+".rpmsave"))
	t.says("the admin removes it", 0, nil, "rm", "-r", "/etc/slurmflex", conffiles[0]+".rpmsave", conffiles[1]+".rpmsave",
		"/var/log/slurm/slurmflex.log")
	t.check("then nothing is left", t.left(clean))
}
