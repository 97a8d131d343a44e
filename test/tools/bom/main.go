// Command bom writes a CycloneDX bill of materials of slurmflex's programs, from the data
// that the Go linker stores in them, and the licenses and notices of Go and of all modules. Usage: bom
// FOLDER VERSION PROGRAM [PROGRAM]
package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bom:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 3 {
		return errors.New("usage: bom FOLDER VERSION PROGRAM [PROGRAM]")
	}
	parts, err := partsOf(args[2:])
	if err != nil {
		return err
	}
	notices, err := notices(parts)
	if err != nil {
		return err
	}
	var bom bytes.Buffer
	if err := cdx.NewBOMEncoder(&bom, cdx.BOMFileFormatJSON).SetPretty(true).Encode(list(parts, args[1])); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(args[0], "bom.cdx.json"), bom.Bytes(), 0o644),
		os.WriteFile(filepath.Join(args[0], "third-party-notices"), notices, 0o644),
	)
}

// part is a module in a program. Go's library is the module std.
type part struct{ path, version string }

// partsOf returns the sorted modules of the programs.
func partsOf(programs []string) (parts []part, err error) {
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{"std", strings.TrimPrefix(info.GoVersion, "go")})
		for _, m := range info.Deps {
			if m.Replace != nil {
				return nil, fmt.Errorf("%s: %s is replaced, which this program does not follow", program, m.Path)
			}
			parts = append(parts, part{m.Path, m.Version})
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return strings.Compare(a.path+"@"+a.version, b.path+"@"+b.version) })
	return slices.Compact(parts), nil
}

// list returns the bill of materials. It contains no time and no serial number, so it is the
// same for the same programs.
func list(parts []part, version string) *cdx.BOM {
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{
		BOMRef: "slurmflex", Type: cdx.ComponentTypeApplication, Name: "slurmflex", Version: version,
		Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
	}}
	var components []cdx.Component
	var refs []string
	for _, p := range parts {
		url := "pkg:golang/" + p.path + "@" + p.version
		components = append(components, cdx.Component{
			BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: p.path, Version: p.version, PackageURL: url,
		})
		refs = append(refs, url)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: "slurmflex", Dependencies: &refs}}
	return bom
}

var license = regexp.MustCompile(`^(?i:licen[cs]e|copying|notice|patents)([.-].*)?$`)

// notices returns the text of all license files in the modules. A module without a license is
// an error, because it must not be distributed.
func notices(parts []part) ([]byte, error) {
	var text bytes.Buffer
	for _, p := range parts {
		dir, err := folder(p)
		if err != nil {
			return nil, err
		}
		found := 0
		err = fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || p.path == "std" && path != "."):
				return fs.SkipDir
			case d.IsDir() || !license.MatchString(d.Name()) || strings.HasSuffix(path, ".go"):
				return nil
			}
			found++
			data, err := os.ReadFile(filepath.Join(dir, path))
			fmt.Fprintf(&text, "==== %s %s: %s\n\n%s\n\n", p.path, p.version, path, bytes.TrimSpace(data))
			return err
		})
		if err != nil {
			return nil, err
		}
		if found == 0 {
			return nil, fmt.Errorf("%s %s lacks a license", p.path, p.version)
		}
	}
	return text.Bytes(), nil
}

// folder returns the folder of a module's files. Go downloads missing files.
func folder(p part) (string, error) {
	if p.path == "std" {
		out, err := exec.Command("go", "env", "GOROOT").Output()
		return strings.TrimSpace(string(out)), err
	}
	out, err := exec.Command("go", "mod", "download", "-json", p.path+"@"+p.version).Output()
	if err != nil {
		return "", fmt.Errorf("go mod download %s@%s: %w", p.path, p.version, err)
	}
	var module struct{ Dir string }
	err = json.Unmarshal(out, &module)
	return module.Dir, err
}
