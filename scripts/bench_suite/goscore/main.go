// Command goscore prints the nanoseconds that one score costs in Go, for each model.
package main

import (
	"fmt"
	"math/rand"
	"os"
	"time"

	"github.com/iamfaham/recolva/pkg/decay"
)

const (
	records = 1 << 16
	rounds  = 40
	day     = 86_400_000
	now     = 1_767_225_600_000
)

func main() {
	random := rand.New(rand.NewSource(1))
	stored := make([]decay.Record, records)
	for i := range stored {
		stored[i] = decay.Record{LastAccessedMillis: now - random.Int63n(400*day), Importance: random.Float64()}
	}
	for _, choice := range []struct {
		name   string
		values []float64
	}{{"exponential", []float64{50 * day}}, {"power-law", []float64{30 * day, 1.5}}} {
		kind, ok := decay.KindByName(choice.name)
		if !ok {
			fmt.Fprintf(os.Stderr, "there is no model %s\n", choice.name)
			os.Exit(1)
		}
		model, err := kind.New(choice.values...)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("%s %.2f\n", choice.name, nanoseconds(model, stored))
	}
}

// nanoseconds returns what one score costs in the fastest of some rounds,
// the one that the rest of the machine disturbed least.
func nanoseconds(model decay.Model, stored []decay.Record) float64 {
	best, sum := time.Hour, 0.0
	for range rounds {
		started := time.Now()
		for _, record := range stored {
			sum += model.Score(record, now)
		}
		best = min(best, time.Since(started))
	}
	if sum == 0 {
		panic("every score was zero")
	}
	return float64(best.Nanoseconds()) / records
}
