// verify-peer checks chains the way Go clients do: crypto/x509, by name, for serverAuth. Arguments: a CA file, then pairs
// of chain file and name. It prints one line a pair, "ok" or the error, and exits 1 when any was not ok.
package main

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 4 || len(os.Args)%2 != 0 {
		fmt.Fprintln(os.Stderr, "usage: verify-peer CA_FILE CHAIN_FILE NAME [CHAIN_FILE NAME]...")
		os.Exit(2)
	}
	roots := x509.NewCertPool()
	if text, err := os.ReadFile(os.Args[1]); err != nil || !roots.AppendCertsFromPEM(text) {
		fmt.Fprintln(os.Stderr, "no CA in", os.Args[1], err)
		os.Exit(2)
	}
	failed := false
	for index := 2; index < len(os.Args); index += 2 {
		if err := verify(roots, os.Args[index], os.Args[index+1]); err != nil {
			failed = true
			fmt.Println(err)
		} else {
			fmt.Println("ok")
		}
	}
	if failed {
		os.Exit(1)
	}
}

func verify(roots *x509.CertPool, chainFile, name string) error {
	rest, err := os.ReadFile(chainFile)
	if err != nil {
		return err
	}
	var leaf *x509.Certificate
	intermediates := x509.NewCertPool()
	for block, rest := pem.Decode(rest); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return err
		}
		if leaf == nil {
			leaf = certificate
		} else {
			intermediates.AddCert(certificate)
		}
	}
	if leaf == nil {
		return errors.New("no certificate in the chain file")
	}
	_, err = leaf.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates, DNSName: name, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err
}
