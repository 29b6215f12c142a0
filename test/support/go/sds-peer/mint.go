package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	lifetime    time.Duration
}

type mintFunc func(name string) (*discovery.Resource, error)

func (a *authority) minter(mode string) (mintFunc, error) {
	shared, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	switch mode {
	case "shared-key":
		return func(name string) (*discovery.Resource, error) { return a.mint(name, shared) }, nil
	case "key-per-leaf":
		return func(name string) (*discovery.Resource, error) {
			key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			if err != nil {
				return nil, err
			}
			return a.mint(name, key)
		}, nil
	case "hand-der":
		return a.handMinter(shared)
	default:
		return nil, fmt.Errorf("unknown mode %q", mode)
	}
}

// onlyBelow refuses names outside the domain.
func onlyBelow(domain string, mint mintFunc) mintFunc {
	suffix := "." + domain
	return func(name string) (*discovery.Resource, error) {
		if !strings.HasSuffix(name, suffix) {
			return nil, fmt.Errorf("%s may not be minted", name)
		}
		return mint(name)
	}
}

// mint goes the usual way of a Go programme: x509.CreateCertificate, which verifies what it has just signed.
func (a *authority) mint(name string, key *ecdsa.PrivateKey) (*discovery.Resource, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial, NotBefore: now.Add(-5 * time.Minute), NotAfter: now.Add(a.lifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	if address, err := netip.ParseAddr(name); err == nil {
		template.IPAddresses = []net.IP{address.AsSlice()}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	return a.resource(name, serial.Text(16), der, keyPEM)
}

func (a *authority) resource(name, version string, der, keyPEM []byte) (*discovery.Resource, error) {
	inline := func(bytes []byte) *core.DataSource {
		return &core.DataSource{Specifier: &core.DataSource_InlineBytes{InlineBytes: bytes}}
	}
	body, err := anypb.New(&tlsv3.Secret{Name: name, Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
		CertificateChain: inline(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		PrivateKey:       inline(keyPEM),
	}}})
	if err != nil {
		return nil, err
	}
	return &discovery.Resource{Name: name, Version: version, Resource: body, Ttl: durationpb.New(a.lifetime - time.Minute)}, nil
}
