// Package figures turns latencies into what the bench's table shows.
package figures

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Latencies in milliseconds.
type Latencies struct {
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

// Summarise leaves the samples as they are; no samples give zeros.
func Summarise(samples []time.Duration) Latencies {
	if len(samples) == 0 {
		return Latencies{}
	}
	sorted := slices.Sorted(slices.Values(samples))
	at := func(quantile float64) float64 {
		index := min(int(quantile*float64(len(sorted))), len(sorted)-1)
		return float64(sorted[index].Microseconds()) / 1000
	}
	return Latencies{P50: at(0.5), P99: at(0.99), Max: at(1)}
}

// Print writes one JSON line.
func Print(value any) {
	line, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}
