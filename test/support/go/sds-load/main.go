// sds-load asks an SDS server, on a unix socket or by TCP with mutual TLS, for many distinct names, as fast as a fixed number of outstanding
// questions allows, in the shape of Envoy's two transports: all names on one delta ADS stream, or one DeltaSecrets
// stream a name, kept open. Every answer is acknowledged. It prints one JSON line with rate, latency and what the
// server used; with -verify every leaf is checked, after the clock has stopped. With -domain the names are others than
// those that servers may mint: what is measured then is how fast they are refused.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"sync"
	"sync/atomic"
	"time"

	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"leafgate.test/peers/internal/figures"
	"leafgate.test/peers/internal/procstat"
)

const secretType = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"

type options struct {
	socket, transport, prefix, domain, caFile string
	address, serverName, tlsDir               string
	onlyTLS12                                 bool
	names, outstanding, pid                   int
	settle                                    time.Duration
}

// answer to one name: a secret, or none
type answer struct {
	resource *discovery.Resource
	refused  bool
	took     time.Duration
}

type result struct {
	Names         int     `json:"names"`
	Granted       int     `json:"granted"`
	Refused       int     `json:"refused"`
	Bad           int     `json:"bad"`
	PerSecond     float64 `json:"per_s"`
	CPUMicros     float64 `json:"server_cpu_us"`
	IdleKB        float64 `json:"rss_before_kb"`
	LoadedKB      float64 `json:"rss_after_kb"`
	FirstComplain string  `json:"complaint,omitempty"`
	figures.Latencies
}

func main() {
	var opts options
	flag.StringVar(&opts.socket, "socket", "", "the server's unix socket")
	flag.StringVar(&opts.address, "address", "", "host:port in place of the socket")
	flag.StringVar(&opts.serverName, "server-name", "", "what is asked for, and verified, at the address")
	flag.StringVar(&opts.tlsDir, "tls", "", "folder with ca.crt, and with tls.crt and tls.key where a certificate is shown")
	flag.BoolVar(&opts.onlyTLS12, "tls12", false, "speak TLS 1.2 at most")
	flag.StringVar(&opts.transport, "transport", "ads", "ads or streams")
	flag.StringVar(&opts.prefix, "prefix", "load", "names are PREFIX-N.DOMAIN")
	flag.StringVar(&opts.domain, "domain", "bench.test", "see prefix")
	flag.StringVar(&opts.caFile, "verify", "", "CA file: verify every leaf afterwards")
	flag.IntVar(&opts.names, "names", 1000, "how many")
	flag.IntVar(&opts.outstanding, "outstanding", 16, "questions in flight")
	flag.IntVar(&opts.pid, "pid", 0, "the server's process id, to say what it used")
	flag.DurationVar(&opts.settle, "settle", 50*time.Millisecond, "wait before the server's memory is read again")
	flag.Parse()
	if err := run(opts); err != nil {
		log.Fatal(err)
	}
}

func run(opts options) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ask, err := warmAsker(ctx, opts)
	if err != nil {
		return err
	}
	cpuBefore, idle := procstat.CPUMicros(opts.pid), procstat.ResidentKB(opts.pid)
	started := time.Now()
	answers := askAll(opts, ask)
	wall := time.Since(started)
	time.Sleep(opts.settle)
	cpu, loaded := procstat.CPUMicros(opts.pid)-cpuBefore, procstat.ResidentKB(opts.pid)
	outcome := result{Names: opts.names, IdleKB: idle, LoadedKB: loaded}
	outcome.count(opts, answers)
	outcome.PerSecond = float64(outcome.Granted+outcome.Refused) / wall.Seconds()
	outcome.CPUMicros = cpu / float64(opts.names)
	figures.Print(outcome)
	return nil
}

// warmAsker has all connections up before the clock starts.
func warmAsker(ctx context.Context, opts options) (askFunc, error) {
	asks, err := askers(ctx, opts)
	if err != nil {
		return nil, err
	}
	for index, ask := range asks {
		if _, err := ask(fmt.Sprintf("first-%d.%s.%s", index, opts.prefix, opts.domain)); err != nil && !errors.Is(err, errRefused) {
			return nil, err
		}
	}
	var turn atomic.Int64
	return func(name string) (*discovery.Resource, error) {
		return asks[int(turn.Add(1)-1)/streamsPerConnection%len(asks)](name)
	}, nil
}

func (o options) name(index int) string {
	return fmt.Sprintf("%s-%d.%s", o.prefix, index, o.domain)
}

func askAll(opts options, ask askFunc) []answer {
	answers := make([]answer, opts.names)
	indexes := make(chan int)
	var workers sync.WaitGroup
	for range opts.outstanding {
		workers.Go(func() {
			for index := range indexes {
				started := time.Now()
				resource, err := ask(opts.name(index))
				if err == nil || errors.Is(err, errRefused) {
					answers[index] = answer{resource, err != nil, time.Since(started)}
				}
			}
		})
	}
	for index := range opts.names {
		indexes <- index
	}
	close(indexes)
	workers.Wait()
	return answers
}

func (r *result) count(opts options, answers []answer) {
	var roots *x509.CertPool
	if opts.caFile != "" {
		roots = x509.NewCertPool()
		text, err := os.ReadFile(opts.caFile)
		if err != nil || !roots.AppendCertsFromPEM(text) {
			log.Fatalf("no CA in %s: %v", opts.caFile, err)
		}
	}
	var took []time.Duration
	for index, answer := range answers {
		if answer.resource == nil && !answer.refused {
			continue
		}
		took = append(took, answer.took)
		if answer.refused {
			r.Refused++
			continue
		}
		r.Granted++
		if roots == nil {
			continue
		}
		if err := verify(answer.resource, opts.name(index), roots); err != nil {
			r.Bad++
			r.FirstComplain = err.Error()
		}
	}
	r.Latencies = figures.Summarise(took)
}

func verify(resource *discovery.Resource, name string, roots *x509.CertPool) error {
	secret := &tlsv3.Secret{}
	if err := resource.Resource.UnmarshalTo(secret); err != nil {
		return err
	}
	if resource.Name != name || secret.Name != name {
		return fmt.Errorf("asked for %s, got %s with %s", name, resource.Name, secret.Name)
	}
	certificate := secret.GetTlsCertificate()
	pair, err := tls.X509KeyPair(certificate.GetCertificateChain().GetInlineBytes(), certificate.GetPrivateKey().GetInlineBytes())
	if err != nil {
		return err
	}
	intermediates := x509.NewCertPool()
	for _, der := range pair.Certificate[1:] {
		parsed, err := x509.ParseCertificate(der)
		if err != nil {
			return err
		}
		intermediates.AddCert(parsed)
	}
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates, DNSName: name})
	return err
}
