// goproxy-peer is an intercepting proxy as one writes it first in Go: github.com/elazarl/goproxy with its own minting, leaves
// kept, origins verified, every name dialled on loopback. It prints "listening on PORT".
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/elazarl/goproxy"
)

// leaves keeps what was minted, since goproxy by itself mints for each connection.
type leaves struct{ held sync.Map }

func (l *leaves) Fetch(host string, mint func() (*tls.Certificate, error)) (*tls.Certificate, error) {
	if leaf, ok := l.held.Load(host); ok {
		return leaf.(*tls.Certificate), nil
	}
	leaf, err := mint()
	if err == nil {
		l.held.Store(host, leaf)
	}
	return leaf, err
}

func main() {
	caFile := flag.String("ca", "", "CA that mints, PEM")
	keyFile := flag.String("key", "", "its key, PEM")
	originCA := flag.String("origin-ca", "", "what origins are verified with, PEM")
	flag.Parse()
	ca, err := tls.LoadX509KeyPair(*caFile, *keyFile)
	if err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(*originCA)
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(text) {
		log.Fatalf("no CA in %q: %v", *originCA, err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on %d\n", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, proxy(&ca, roots)))
}

func proxy(ca *tls.Certificate, roots *x509.CertPool) http.Handler {
	server := goproxy.NewProxyHttpServer()
	server.Logger = log.New(io.Discard, "", 0)
	server.CertStore = &leaves{}
	dialer := &net.Dialer{}
	server.Tr = &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots},
		MaxIdleConnsPerHost: 4,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return dialer.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
		},
	}
	intercept := &goproxy.ConnectAction{Action: goproxy.ConnectMitm, TLSConfig: goproxy.TLSConfigFromCA(ca)}
	server.OnRequest().HandleConnectFunc(func(host string, _ *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
		return intercept, host
	})
	return server
}
