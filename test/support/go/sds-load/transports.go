package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	secret "github.com/envoyproxy/go-control-plane/envoy/service/secret/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// askFunc waits for the answer to one name; safe to call from many goroutines.
type askFunc func(name string) (*discovery.Resource, error)

// errRefused: the server answered that there is no secret of this name.
var errRefused = errors.New("refused")

var node = &core.Node{Id: "sds-load", Cluster: "bench"}

// streamsPerConnection is what a client may have open on one connection, a little below the 900 that leafgate allows:
// grpc-go waits for a free stream, where Envoy opens another connection.
const streamsPerConnection = 800

// askers: one for each connection that the names need.
func askers(ctx context.Context, opts options) ([]askFunc, error) {
	switch opts.transport {
	case "ads":
		connection, err := connect(opts)
		if err != nil {
			return nil, err
		}
		ask, err := oneStream(ctx, connection)
		return []askFunc{ask}, err
	case "streams":
		var asks []askFunc
		for held := 0; held < opts.names; held += streamsPerConnection {
			connection, err := connect(opts)
			if err != nil {
				return nil, err
			}
			asks = append(asks, streamPerName(ctx, connection))
		}
		return asks, nil
	default:
		return nil, fmt.Errorf("unknown transport %q", opts.transport)
	}
}

// connect makes a connection that lives as long as the process.
func connect(opts options) (*grpc.ClientConn, error) {
	if opts.address == "" {
		return grpc.NewClient("unix:"+opts.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	config, err := tlsConfig(opts)
	if err != nil {
		return nil, err
	}
	return grpc.NewClient(opts.address, grpc.WithTransportCredentials(credentials.NewTLS(config)))
}

func tlsConfig(opts options) (*tls.Config, error) {
	roots := x509.NewCertPool()
	text, err := os.ReadFile(filepath.Join(opts.tlsDir, "ca.crt"))
	if err != nil || !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("no CA in %s: %w", opts.tlsDir, err)
	}
	config := &tls.Config{RootCAs: roots, ServerName: opts.serverName}
	if opts.onlyTLS12 {
		config.MaxVersion = tls.VersionTLS12
	}
	certificate := filepath.Join(opts.tlsDir, "tls.crt")
	if _, err := os.Stat(certificate); errors.Is(err, os.ErrNotExist) {
		return config, nil
	}
	pair, err := tls.LoadX509KeyPair(certificate, filepath.Join(opts.tlsDir, "tls.key"))
	if err != nil {
		return nil, err
	}
	// shown whatever the server asks for: that it is not good is the server's to see
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	return config, nil
}

func streamPerName(ctx context.Context, connection *grpc.ClientConn) askFunc {
	client := secret.NewSecretDiscoveryServiceClient(connection)
	return func(name string) (*discovery.Resource, error) {
		stream, err := client.DeltaSecrets(ctx)
		if err != nil {
			return nil, err
		}
		question := &discovery.DeltaDiscoveryRequest{Node: node, TypeUrl: secretType, ResourceNamesSubscribe: []string{name}}
		if err := stream.Send(question); err != nil {
			return nil, err
		}
		response, err := stream.Recv()
		if err != nil {
			return nil, err
		}
		// the stream stays open: that is what makes the name live
		if err := stream.Send(&discovery.DeltaDiscoveryRequest{TypeUrl: secretType, ResponseNonce: response.Nonce}); err != nil {
			return nil, err
		}
		if len(response.RemovedResources) > 0 {
			return nil, errRefused
		}
		return onlyResource(response)
	}
}

func onlyResource(response *discovery.DeltaDiscoveryResponse) (*discovery.Resource, error) {
	if len(response.Resources) != 1 {
		return nil, fmt.Errorf("%d secrets in one response", len(response.Resources))
	}
	return response.Resources[0], nil
}

type adsClient struct {
	stream  discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
	mu      sync.Mutex // sends, and the map
	waiting map[string]chan *discovery.Resource
	failed  chan struct{}
	err     error
}

func oneStream(ctx context.Context, connection *grpc.ClientConn) (askFunc, error) {
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(ctx)
	if err != nil {
		return nil, err
	}
	client := &adsClient{stream: stream, waiting: map[string]chan *discovery.Resource{}, failed: make(chan struct{})}
	go client.receive()
	return client.ask, nil
}

func (c *adsClient) ask(name string) (*discovery.Resource, error) {
	answered := make(chan *discovery.Resource, 1)
	c.mu.Lock()
	c.waiting[name] = answered
	err := c.stream.Send(&discovery.DeltaDiscoveryRequest{Node: node, TypeUrl: secretType, ResourceNamesSubscribe: []string{name}})
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case resource := <-answered:
		if resource == nil {
			return nil, errRefused
		}
		return resource, nil
	case <-c.failed:
		return nil, c.err
	}
}

func (c *adsClient) receive() {
	for {
		response, err := c.stream.Recv()
		if err != nil {
			c.err = err
			close(c.failed)
			return
		}
		c.mu.Lock()
		for _, resource := range response.Resources {
			c.release(resource.Name, resource)
		}
		for _, name := range response.RemovedResources {
			c.release(name, nil)
		}
		// a failed send shows as a failed receive
		_ = c.stream.Send(&discovery.DeltaDiscoveryRequest{TypeUrl: secretType, ResponseNonce: response.Nonce})
		c.mu.Unlock()
	}
}

func (c *adsClient) release(name string, resource *discovery.Resource) {
	if answered, ok := c.waiting[name]; ok {
		delete(c.waiting, name)
		answered <- resource
	}
}
