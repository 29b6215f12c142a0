// tls-origin answers every HTTPS request with the same three bytes over HTTP/1.1: an origin that costs next to nothing.
// It prints "listening on PORT".
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
)

func main() {
	certificate := flag.String("cert", "", "PEM file")
	key := flag.String("key", "", "PEM file")
	flag.Parse()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on %d\n", listener.Addr().(*net.TCPAddr).Port)
	server := &http.Server{
		Handler: http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
			response.Header().Set("Content-Length", "3")
			_, _ = io.WriteString(response, "ok\n")
		}),
		// clients that go away are no news
		ErrorLog: log.New(io.Discard, "", 0),
		// not nil and empty: no HTTP/2
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	log.Fatal(server.ServeTLS(listener, *certificate, *key))
}
