// Package config reads the configuration file: the keys of slurm-gcp's
// config.yaml, so that the file of an existing cluster loads as it is, and our
// own dws_flex and slurmflex sections. Everything wrong with a file is reported at
// once, each problem with its line and its fix. After Load there is no I/O, and a
// Config may be read by any number of goroutines.
package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"slurmflex/config/regular"
)

// MaxSize is the size in bytes of the largest file that is read: some hundred
// times that of a large cluster.
const MaxSize = 4 << 20

// Config is a configuration that has been checked.
type Config struct {
	// The first part of every node's and group's name.
	Cluster string `key:"slurm_cluster_name" form:"cluster" reload:"restart"`
	// The project that the nodes are made in.
	Project string `key:"project" form:"project" reload:"restart"`
	// Where scontrol and squeue are; empty: a usual place.
	SlurmBinDir string `key:"slurm_bin_dir" form:"path" reload:"restart"`
	SlurmLogDir string `key:"slurm_log_dir" form:"path" default:"/var/log/slurm"`

	Partitions []Partition `key:"partitions"` // sorted by name
	NodeSets   []*NodeSet  `key:"nodeset"`    // ours and others', sorted by name; no two have the same
	Options    Options     `key:"slurmflex"`
	Ignored    []Ignored   `key:"-"` // what the file says that we do not use, sorted by line

	file string     // its name
	root *yaml.Node // what it says
}

// Ignored is a key outside our own sections that was passed over, or a nodeset that is not
// ours and was passed over but for its name and size.
type Ignored struct {
	Key  string // the path of the key, such as nodeset.a3.network_storage
	Line int
}

// Load reads and checks the file at path. Its errors name the path; if the
// content is at fault they are Problems. It refuses a file that others than its
// owner may write, and one that names a credentials file that others may read or
// write, because anyone who can change them decides what runs as SlurmUser. It refuses a file
// without a newline at its end, which may be cut off.
func Load(path string) (*Config, error) {
	data, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if cut := cutOff(path, data); cut != nil {
		return nil, cut
	}
	c, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	if err := CheckSecret(c.Options.CredentialsFile); err != nil {
		return nil, fmt.Errorf("%s: credentials file: %w", path, err)
	}
	return c, nil
}

// cutOff returns a problem if the last line of a file has no newline. Such a file may be cut off,
// and what is left of it may be a valid configuration with other values or fewer nodesets.
func cutOff(path string, data []byte) error {
	if len(data) == 0 || len(data) > MaxSize || bytes.HasSuffix(data, []byte("\n")) {
		return nil
	}
	return Problems{{
		File: path, Line: 1 + bytes.Count(data, []byte("\n")),
		Text: "the file ends without a newline, so it may be cut off; write all of it, with a newline at the end",
	}}
}

// read stops one byte after MaxSize, which is enough for Parse to refuse.
func read(path string) ([]byte, error) {
	f, err := regular.OpenPipe(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w; write the file or give another path", err)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w; let this user read it", err)
	case err != nil:
		return nil, err
	}
	defer f.Close()
	if err := checkFile(f); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("%w; give a file that can be read", err)
	}
	return data, nil
}

// Parse checks the content of a configuration file. The name stands for the
// file in messages. Its error is of type Problems: all of them, not the first.
func Parse(name string, data []byte) (*Config, error) {
	r := &reader{file: name, faulty: make(map[string]bool), places: places(), left: maxEntries}
	var c *Config
	if root := r.document(data); root != nil {
		c = r.config(root)
		c.file, c.root = name, r.root
	}
	if len(r.problems) > 0 {
		r.problems.sort()
		return nil, r.problems
	}
	return c, nil
}

func (r *reader) config(root *section) *Config {
	values := defaults[Config]()
	c := &values
	root.read(c, only("slurm_cluster_name", "project", "slurm_bin_dir", "slurm_log_dir"))
	c.NodeSets = readNodeSets(root, c.Cluster)
	c.Partitions = readPartitions(root, c.NodeSets)
	c.Options = readOptions(root.section("slurmflex"), Options{
		LogFile:         strings.TrimSuffix(c.SlurmLogDir, "/") + "/slurmflex.log",
		CredentialsFile: root.absolute("google_app_cred_path", ""),
	})
	r.ignored = append(r.ignored, root.ignore()...)
	slices.SortStableFunc(r.ignored, func(a, b Ignored) int { return cmp.Compare(a.Line, b.Line) })
	c.Ignored = r.ignored
	return c
}

// places says of each key that only slurmflex has which section it is read in. It does not
// have enabled, which a later release of slurm-gcp may use for anything.
func places() map[string]string {
	places := map[string]string{"capacity": "a nodeset without dws_flex"}
	for _, part := range []struct {
		place   string
		of      any
		selects func(field) bool
	}{
		{"dws_flex of a nodeset", Flex{}, inFlexBlock},
		{"slurmflex", Options{}, all},
		{"slurmflex.delegate", Delegate{}, all},
	} {
		for _, f := range fieldsOf(reflect.TypeOf(part.of)) {
			if part.selects(f) {
				places[f.key] = part.place
				if f.was != "" {
					places[f.was] = part.place
				}
			}
		}
	}
	return places
}

// Find says which nodeset a node is of, ours or not, and its index there. Only
// the exact name of a node that the nodeset has is found:
// {cluster}-{nodeset}-{index}, the index without leading zeros.
func (c *Config) Find(node string) (ns *NodeSet, index int, ok bool) {
	rest, ok := strings.CutPrefix(node, c.Cluster)
	dash := strings.LastIndexByte(rest, '-')
	if !ok || dash < 1 || rest[0] != '-' {
		return nil, 0, false
	}
	at, ok := slices.BinarySearchFunc(c.NodeSets, rest[1:dash], func(ns *NodeSet, name string) int {
		return cmp.Compare(ns.Name, name)
	})
	if !ok {
		return nil, 0, false
	}
	ns, digits := c.NodeSets[at], rest[dash+1:]
	index, err := strconv.Atoi(digits)
	if err != nil || digits[0] < '0' || digits[0] == '0' && digits != "0" || index >= ns.Size() {
		return nil, 0, false
	}
	return ns, index, true
}

// FlexSets are the nodesets that are ours, sorted by name.
func (c *Config) FlexSets() []*NodeSet {
	var sets []*NodeSet
	for _, ns := range c.NodeSets {
		if ns.Flex != nil {
			sets = append(sets, ns)
		}
	}
	return sets
}

// FlexSetOf returns the nodeset of a node if that is ours, otherwise nil.
func (c *Config) FlexSetOf(node string) *NodeSet {
	if ns, _, ok := c.Find(node); ok && ns.Flex != nil {
		return ns
	}
	return nil
}

// FlexSet is the nodeset of that name that is ours; nil if there is none.
func (c *Config) FlexSet(name string) *NodeSet {
	for _, ns := range c.FlexSets() {
		if ns.Name == name {
			return ns
		}
	}
	return nil
}

// NeedFlexSet is FlexSet, or an error that names those that there are.
func (c *Config) NeedFlexSet(name string) (*NodeSet, error) {
	if ns := c.FlexSet(name); ns != nil {
		return ns, nil
	}
	var names []string
	for _, ns := range c.FlexSets() {
		names = append(names, ns.Name)
	}
	return nil, UnknownFlexSet(name, names)
}

// UnknownFlexSet is the error for a nodeset that is not one of ours, which are known.
func UnknownFlexSet(name string, known []string) error {
	return fmt.Errorf("unknown flex-start nodeset %q; choose one of: %s", name, strings.Join(known, ", "))
}

// FlexRegions are the regions that have a nodeset of ours, sorted.
func (c *Config) FlexRegions() []string {
	var regions []string
	for _, ns := range c.FlexSets() {
		regions = append(regions, ns.Region)
	}
	slices.Sort(regions)
	return slices.Compact(regions)
}

// FlexZones returns the zones of slurmflex's nodesets, sorted.
func (c *Config) FlexZones() []string {
	var zones []string
	for _, ns := range c.FlexSets() {
		zones = append(zones, ns.Zones...)
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}

// Partition returns the partition of that name.
func (c *Config) Partition(name string) (*Partition, bool) {
	at, ok := slices.BinarySearchFunc(c.Partitions, name, func(p Partition, name string) int {
		return cmp.Compare(p.Name, name)
	})
	if !ok {
		return nil, false
	}
	return &c.Partitions[at], true
}

// Exclusive reports whether the partition is known and gives whole nodes to
// one job at a time.
func (c *Config) Exclusive(partition string) bool {
	p, ok := c.Partition(partition)
	return ok && p.Exclusive
}
