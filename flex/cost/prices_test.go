package cost

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
	"slurmflex/test/must"
)

const prices = `
currency: USD
date: 2026-11-01
machines:
  a3-highgpu-8g: {flex: 40.5, spot: 30, on_demand: 88.49}
  g2-standard-4: {flex: "0.424242424"}
`

func fromFile(t *testing.T) *Prices {
	t.Helper()
	p, err := parsePrices([]byte(prices))
	require.NoError(t, err)
	return p
}

func TestEachModelHasItsOwnPrice(t *testing.T) {
	flex, other := lease(2*hour), lease(1800)
	other.FlexStart, other.User = false, "abe"
	r := billed(User, other, flex).report("alpha", fromFile(t))
	assert.Equal(t, "81.00", r.Rows[0].Cost, "the largest row is first")
	assert.Equal(t, "44.25", r.Rows[1].Cost, "44.245")
	assert.Equal(t, "125.25", r.Total.Cost)
	assert.Equal(t, "USD", r.Currency)
	assert.Equal(t, "2026-11-01", r.Priced)
	assert.Empty(t, r.Unpriced)
}

func TestMissingPricesAreNamed(t *testing.T) {
	flex, other := lease(hour), lease(hour)
	other.Machine = "a4-highgpu-8g"
	r := billed(User, flex, other).report("alpha", fromFile(t))
	assert.Equal(t, "40.50", r.Total.Cost)
	assert.True(t, r.Total.Partial)
	assert.Equal(t, []string{"a4-highgpu-8g"}, r.Unpriced)
}

func TestWithoutPricesCostsAreAbsent(t *testing.T) {
	b := newBill(User, start, start+10, time.UTC)
	e := lease(hour)
	b.take(e)
	r := b.report("alpha", nil)
	assert.Empty(t, r.Total.Cost)
	assert.EqualValues(t, 10, r.Total.Machine)
	assert.Equal(t, start+10, r.To)
}

func TestPriceFileErrorsNameTheLine(t *testing.T) {
	for text, says := range map[string]string{
		"":                                     "currency or machines is missing",
		"currency: USD\n":                      "currency or machines is missing",
		"color: red\n":                         "line 1: field color not found",
		"currency: USD\nmachines: {a: {b: 1}}": "line 2: b of a: not known; must be flex, spot or on_demand",
		"currency: USD\nmachines: {a: {spot: -1}}": `line 2: spot of a: "-1" is not an amount`,
		"currency: USD\nmachines: {a: {spot: $}}":  `line 2: spot of a: "$" is not an amount`,
		"currency: USD\nmachines: {a: {spot: []}}": `line 2: spot of a: "" is not an amount`,
		"currency: [": "yaml: line 1",
	} {
		_, err := parsePrices([]byte(text))
		assert.ErrorContains(t, err, says, text)
	}
}

func TestExamplePriceFileIsValid(t *testing.T) {
	text := must.Get(os.ReadFile("../../scripts/package/prices.yaml"))
	p, err := parsePrices(text)
	require.NoError(t, err)
	assert.NotEmpty(t, p.Date)
	for machine := range p.machines {
		_, known := mig.KnownMachine(machine)
		assert.True(t, known, machine)
	}
}
