// fetch-peer fetches one URL with Go's own client, as any Go programme would: proxy and trust from the environment. It
// prints one JSON line: status, body, and the issuer and serial of the certificate that the server showed; or the error.
package main

import (
	"io"
	"net/http"
	"os"
	"time"

	"leafgate.test/peers/internal/figures"
)

type result struct {
	Status   int    `json:"status,omitempty"`
	Body     string `json:"body,omitempty"`
	Protocol string `json:"protocol,omitempty"`
	Issuer   string `json:"issuer,omitempty"`
	Serial   string `json:"serial,omitempty"`
	Error    string `json:"error,omitempty"`
}

const maxBodyBytes = 64 << 10

func main() {
	outcome, code := fetch(os.Args[1])
	figures.Print(outcome)
	os.Exit(code)
}

func fetch(url string) (result, int) {
	client := &http.Client{Timeout: 15 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return result{Error: err.Error()}, 1
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBodyBytes))
	if err != nil {
		return result{Error: err.Error()}, 1
	}
	outcome := result{Status: response.StatusCode, Body: string(body), Protocol: response.Proto}
	if response.TLS != nil {
		leaf := response.TLS.PeerCertificates[0]
		outcome.Issuer, outcome.Serial = leaf.Issuer.String(), leaf.SerialNumber.Text(16)
	}
	return outcome, 0
}
