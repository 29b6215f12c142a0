// tls-load makes TLS handshakes against one listener, each on a connection of its own, and prints one JSON line with
// rate and latency. Names are PREFIX-N.bench.test: distinct ones are cold, -distinct below -n makes the rest warm.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"sync"
	"time"

	"leafgate.test/peers/internal/figures"
)

type options struct {
	address, prefix, caFile        string
	handshakes, distinct, parallel int
	timeout                        time.Duration
}

type result struct {
	Handshakes int     `json:"handshakes"`
	Failed     int     `json:"failed"`
	PerSecond  float64 `json:"per_s"`
	Complaint  string  `json:"complaint,omitempty"`
	figures.Latencies
}

func main() {
	var opts options
	flag.StringVar(&opts.address, "address", "", "ADDRESS:PORT of the listener")
	flag.StringVar(&opts.prefix, "prefix", "tls", "names are PREFIX-N.bench.test")
	flag.StringVar(&opts.caFile, "ca", "", "CA file that every leaf must verify with")
	flag.IntVar(&opts.handshakes, "n", 200, "how many handshakes")
	flag.IntVar(&opts.distinct, "distinct", 0, "how many names; 0 means one a handshake")
	flag.IntVar(&opts.parallel, "c", 1, "handshakes in flight")
	flag.DurationVar(&opts.timeout, "timeout", 10*time.Second, "of one handshake")
	flag.Parse()
	if opts.distinct == 0 {
		opts.distinct = opts.handshakes
	}
	text, err := os.ReadFile(opts.caFile)
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(text) {
		log.Fatalf("no CA in %q: %v", opts.caFile, err)
	}
	figures.Print(run(opts, roots))
}

func run(opts options, roots *x509.CertPool) result {
	indexes := make(chan int)
	var (
		mu      sync.Mutex
		took    []time.Duration
		outcome = result{Handshakes: opts.handshakes}
		workers sync.WaitGroup
	)
	started := time.Now()
	for range opts.parallel {
		workers.Go(func() {
			for index := range indexes {
				duration, err := handshake(opts, fmt.Sprintf("%s-%d.bench.test", opts.prefix, index%opts.distinct), roots)
				mu.Lock()
				if err == nil {
					took = append(took, duration)
				} else {
					outcome.Failed++
					outcome.Complaint = err.Error()
				}
				mu.Unlock()
			}
		})
	}
	for index := range opts.handshakes {
		indexes <- index
	}
	close(indexes)
	workers.Wait()
	outcome.PerSecond = float64(len(took)) / time.Since(started).Seconds()
	outcome.Latencies = figures.Summarise(took)
	return outcome
}

func handshake(opts options, name string, roots *x509.CertPool) (time.Duration, error) {
	started := time.Now()
	raw, err := net.DialTimeout("tcp", opts.address, opts.timeout)
	if err != nil {
		return 0, err
	}
	defer raw.Close()
	if err := raw.SetDeadline(started.Add(opts.timeout)); err != nil {
		return 0, err
	}
	if err := tls.Client(raw, &tls.Config{ServerName: name, RootCAs: roots}).Handshake(); err != nil {
		return 0, err
	}
	return time.Since(started), nil
}
