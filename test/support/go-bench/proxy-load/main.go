// proxy-load asks an HTTPS origin through an intercepting proxy, or directly, and prints one JSON line: how long a new
// connection takes until its first answer, how long a request on an open one, how many there are a second, and what they cost
// the processes under test. With -hold it keeps all connections open, says so, and waits for the end of its input.
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"leafgate.test/peers/internal/figures"
	"leafgate.test/peers/internal/procstat"
)

type options struct {
	proxy, prefix, caFile, pids                string
	port, connections, distinct, parallel, ask int
	hold                                       bool
}

type result struct {
	Failed    int               `json:"failed"`
	Complaint string            `json:"complaint,omitempty"`
	PerSecond float64           `json:"per_s"`
	CPUMicros float64           `json:"cpu_us"`
	First     figures.Latencies `json:"first"`
	Next      figures.Latencies `json:"next"`
}

// load is what the workers share.
type load struct {
	options
	roots       *x509.CertPool
	mu          sync.Mutex
	first, next []time.Duration
	held        []net.Conn
	outcome     result
}

const timeout = 20 * time.Second

func main() {
	var opts options
	flag.StringVar(&opts.proxy, "proxy", "", "ADDRESS:PORT; empty: no proxy")
	flag.StringVar(&opts.prefix, "prefix", "load", "names are PREFIX-N.bench.test")
	flag.StringVar(&opts.caFile, "ca", "", "CA file that every certificate must verify with")
	flag.StringVar(&opts.pids, "pids", "", "processes whose CPU time is counted, joined by commas")
	flag.IntVar(&opts.port, "port", 443, "of the origin")
	flag.IntVar(&opts.connections, "n", 100, "how many connections")
	flag.IntVar(&opts.distinct, "distinct", 1, "how many names")
	flag.IntVar(&opts.parallel, "c", 1, "connections at a time")
	flag.IntVar(&opts.ask, "requests", 1, "on each connection")
	flag.BoolVar(&opts.hold, "hold", false, "keep the connections until the input ends")
	flag.Parse()
	text, err := os.ReadFile(opts.caFile)
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(text) {
		log.Fatalf("no CA in %q: %v", opts.caFile, err)
	}
	l := &load{options: opts, roots: roots}
	l.run()
	figures.Print(l.outcome)
	if opts.hold {
		_, _ = io.Copy(io.Discard, os.Stdin)
		for _, connection := range l.held {
			_ = connection.Close()
		}
	}
}

func (l *load) run() {
	indexes := make(chan int)
	var workers sync.WaitGroup
	cpuBefore, started := l.cpu(), time.Now()
	for range l.parallel {
		workers.Go(func() {
			for index := range indexes {
				if err := l.connection(fmt.Sprintf("%s-%d.bench.test", l.prefix, index%l.distinct)); err != nil {
					l.mu.Lock()
					l.outcome.Failed++
					l.outcome.Complaint = err.Error()
					l.mu.Unlock()
				}
			}
		})
	}
	for index := range l.connections {
		indexes <- index
	}
	close(indexes)
	workers.Wait()
	requests := float64(len(l.first) + len(l.next))
	l.outcome.PerSecond = requests / time.Since(started).Seconds()
	l.outcome.CPUMicros = (l.cpu() - cpuBefore) / requests
	l.outcome.First, l.outcome.Next = figures.Summarise(l.first), figures.Summarise(l.next)
}

func (l *load) cpu() float64 {
	var sum float64
	for pid := range strings.SplitSeq(l.pids, ",") {
		if number, err := strconv.Atoi(pid); err == nil {
			sum += procstat.CPUMicros(number)
		}
	}
	return sum
}

// connection opens one and asks on it; the first answer includes everything that came before it.
func (l *load) connection(name string) error {
	started := time.Now()
	connection, err := l.open(name)
	if err != nil {
		return err
	}
	if !l.hold {
		defer connection.Close()
	}
	reader := bufio.NewReader(connection)
	var next []time.Duration
	var first time.Duration
	for count := range l.ask {
		if count > 0 {
			started = time.Now()
		}
		if err := l.request(connection, reader, name); err != nil {
			return err
		}
		if took := time.Since(started); count == 0 {
			first = took
		} else {
			next = append(next, took)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first, l.next = append(l.first, first), append(l.next, next...)
	if l.hold {
		l.held = append(l.held, connection)
	}
	return nil
}

func (l *load) open(name string) (net.Conn, error) {
	address := l.proxy
	if address == "" {
		address = net.JoinHostPort("127.0.0.1", strconv.Itoa(l.port))
	}
	raw, err := net.DialTimeout("tcp", address, timeout)
	if err != nil {
		return nil, err
	}
	if err := raw.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	if l.proxy != "" {
		if err := tunnel(raw, fmt.Sprintf("%s:%d", name, l.port)); err != nil {
			_ = raw.Close()
			return nil, err
		}
	}
	secured := tls.Client(raw, &tls.Config{ServerName: name, RootCAs: l.roots, NextProtos: []string{"http/1.1"}})
	if err := secured.Handshake(); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return secured, nil
}

// tunnel reads byte by byte, so that nothing of what follows the answer is lost in a buffer.
func tunnel(raw net.Conn, authority string) error {
	if _, err := fmt.Fprintf(raw, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority); err != nil {
		return err
	}
	var answer []byte
	for octet := make([]byte, 1); !strings.HasSuffix(string(answer), "\r\n\r\n"); {
		if _, err := raw.Read(octet); err != nil {
			return err
		}
		answer = append(answer, octet[0])
	}
	if fields := strings.Fields(string(answer)); len(fields) < 2 || fields[1] != "200" {
		return errors.New(strings.SplitN(string(answer), "\r\n", 2)[0])
	}
	return nil
}

func (l *load) request(connection net.Conn, reader *bufio.Reader, name string) error {
	if err := connection.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(connection, "GET /x HTTP/1.1\r\nHost: %s:%d\r\n\r\n", name, l.port); err != nil {
		return err
	}
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}
