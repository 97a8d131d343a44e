package cost

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"slurmflex/config"
)

// billing is the way a machine is billed.
type billing string

// The billing models.
const (
	asFlex     billing = "flex"
	asSpot     billing = "spot"
	asOnDemand billing = "on_demand"
)

// modelOf returns how machines with this capacity are billed. A reservation is billed as on demand.
// Source: Compute's page "VM instance pricing".
func modelOf(c config.Capacity) billing {
	switch c {
	case config.FlexStart:
		return asFlex
	case config.Spot:
		return asSpot
	}
	return asOnDemand
}

// Prices holds the prices in a price file.
type Prices struct {
	Currency string
	Date     string                         // of the prices, as in the file
	machines map[string]map[billing]float64 // per machine and hour
}

// ReadPrices reads the price file. It returns nil if the file does not exist and wanted is false.
func ReadPrices(path string, wanted bool) (*Prices, error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !wanted:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read prices: %w", err)
	}
	prices, err := parsePrices(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return prices, nil
}

// amount matches a price in the file.
var amount = regexp.MustCompile(`^\d{1,9}(\.\d{1,9})?$`)

// parsePrices parses a price file. An error names the line and the problem.
func parsePrices(text []byte) (*Prices, error) {
	var file struct {
		Currency string                          `yaml:"currency"`
		Date     string                          `yaml:"date"`
		Machines map[string]map[string]yaml.Node `yaml:"machines"`
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New(strings.ReplaceAll(err.Error(), "\n", " "))
	}
	if file.Currency == "" || len(file.Machines) == 0 {
		return nil, errors.New("currency or machines is missing; see the example")
	}
	p := &Prices{Currency: file.Currency, Date: file.Date, machines: map[string]map[billing]float64{}}
	for _, machine := range slices.Sorted(maps.Keys(file.Machines)) {
		p.machines[machine] = map[billing]float64{}
		for _, model := range slices.Sorted(maps.Keys(file.Machines[machine])) {
			node := file.Machines[machine][model]
			if !slices.Contains([]billing{asFlex, asSpot, asOnDemand}, billing(model)) {
				return nil, fmt.Errorf("line %d: %s of %s: not known; must be %s, %s or %s", node.Line, model, machine, asFlex, asSpot, asOnDemand)
			}
			price, err := strconv.ParseFloat(node.Value, 64)
			if err != nil || !amount.MatchString(node.Value) {
				return nil, fmt.Errorf("line %d: %s of %s: %q is not an amount such as 12.34", node.Line, model, machine, node.Value)
			}
			p.machines[machine][billing(model)] = price
		}
	}
	return p, nil
}

// of returns the cost of a sum, and the names of the machine types without a price. The cost does
// not include them.
func (p *Prices) of(s sum) (cost float64, unpriced []string) {
	for _, r := range s.inOrder() {
		price, known := p.machines[r.machine][r.model]
		if !known {
			unpriced = append(unpriced, r.machine)
		}
		cost += price * s.rates[r] / time.Hour.Seconds()
	}
	slices.Sort(unpriced)
	return cost, slices.Compact(unpriced)
}
