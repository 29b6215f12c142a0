// sds-peer is a plain Go Delta-SDS minter, the bench's peer: one leaf for each subscribed name, no cache, no bounds, and
// one domain as its policy. It serves what Envoy's DELTA_GRPC and delta ADS ask for and keeps nothing of a name.
package main

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	secret "github.com/envoyproxy/go-control-plane/envoy/service/secret/v3"
	"google.golang.org/grpc"
)

const secretType = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"

type server struct {
	secret.UnimplementedSecretDiscoveryServiceServer
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	mint func(name string) (*discovery.Resource, error)
}

type deltaStream interface {
	Recv() (*discovery.DeltaDiscoveryRequest, error)
	Send(*discovery.DeltaDiscoveryResponse) error
}

func (s *server) DeltaSecrets(stream secret.SecretDiscoveryService_DeltaSecretsServer) error {
	return s.serve(stream)
}

func (s *server) DeltaAggregatedResources(stream discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	return s.serve(stream)
}

func (s *server) serve(stream deltaStream) error {
	for nonce := 1; ; {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if request.TypeUrl != secretType {
			continue
		}
		for _, name := range request.ResourceNamesSubscribe {
			response := &discovery.DeltaDiscoveryResponse{TypeUrl: secretType, Nonce: fmt.Sprint(nonce)}
			if resource, err := s.mint(name); err == nil {
				response.Resources = []*discovery.Resource{resource}
			} else {
				response.RemovedResources = []string{name}
			}
			nonce++
			if err := stream.Send(response); err != nil {
				return err
			}
		}
	}
}

func main() {
	socket := flag.String("socket", "", "unix socket to listen on")
	certFile := flag.String("ca", "", "CA certificate, PEM")
	keyFile := flag.String("key", "", "its P-256 key, PEM")
	domain := flag.String("domain", "", "names outside this domain are refused; empty: none is")
	mode := flag.String("mode", "shared-key", "shared-key, key-per-leaf (both through x509.CreateCertificate) or hand-der")
	flag.Parse()

	pair, err := tls.LoadX509KeyPair(*certFile, *keyFile)
	if err != nil {
		log.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		log.Fatal(err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		log.Fatal("the CA key must be a P-256 key")
	}
	authority := &authority{certificate: certificate, key: key, lifetime: time.Hour}
	mint, err := authority.minter(*mode)
	if err != nil {
		log.Fatal(err)
	}
	if *domain != "" {
		mint = onlyBelow(*domain, mint)
	}
	listener, err := net.Listen("unix", *socket)
	if err != nil {
		log.Fatal(err)
	}
	peer := &server{mint: mint}
	grpcServer := grpc.NewServer(grpc.MaxRecvMsgSize(16 << 20))
	secret.RegisterSecretDiscoveryServiceServer(grpcServer, peer)
	discovery.RegisterAggregatedDiscoveryServiceServer(grpcServer, peer)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-stop
		grpcServer.Stop()
	}()
	fmt.Println("ready")
	if err := grpcServer.Serve(listener); err != nil {
		log.Fatal(err)
	}
}
