// ctb-oracle runs the real Kubernetes code for ClusterTrustBundles, so that what
// leafgate publishes and projects can be held against it.
//
//	ctb-oracle answer     JSON lines in, one JSON line out for each, in order.
//	                      {"validate":{"name":"…","signerName":"…","trustBundle":"…"[,"old":{…}]}}
//	                        what the API server's validation says about a bundle (with "old": about an update):
//	                        {"ok":bool,"errors":[{"type","field","detail"}]}
//	                      {"project":{"bundles":[CTB…],"name":…|"signerName":…,"labelSelector":{…},"optional":bool}}
//	                        what the kubelet would write: {"ok":bool,"error":"…","pem":"…","sha256":[sorted DER digests]}
//	ctb-oracle kubelet -kubeconfig K -dir D -file F (-name N | -signer S [-selector JSON]) [-optional] [-period 1s]
//	                      plays the kubelet's part for one projected volume against a live API server:
//	                      same manager (version discovery, informer, cache) and the same AtomicWriter.
//	                      Prints one JSON line per changed write or error; runs until killed.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"log"
	"os"
	"sort"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/apis/certificates/validation"
	"k8s.io/kubernetes/pkg/kubelet/clustertrustbundle"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"
)

// cacheSize is what pkg/kubelet/kubelet.go passes: 2 * maxPods (default 110).
const cacheSize = 220

func main() {
	klog.SetLogger(klog.Logger{}) // stdout/stderr carry results only
	if len(os.Args) < 2 {
		log.Fatal("usage: ctb-oracle answer|kubelet")
	}
	switch os.Args[1] {
	case "answer":
		answerLines()
	case "kubelet":
		kubelet(os.Args[2:])
	default:
		log.Fatalf("unknown command %q", os.Args[1])
	}
}

type question struct {
	Validate *bundle    `json:"validate"`
	Project  *selection `json:"project"`
}

func answer(q question) any {
	switch {
	case q.Validate != nil:
		return validate(*q.Validate)
	case q.Project != nil:
		return project(*q.Project)
	default:
		return verdict{Errors: []fieldError{{Type: "Question", Detail: "neither validate nor project"}}}
	}
}

// answerLines answers each JSON document on stdin with one JSON line on stdout.
func answerLines() {
	dec := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	enc := json.NewEncoder(os.Stdout)
	for dec.More() {
		var q question
		if err := dec.Decode(&q); err != nil {
			log.Fatal(err)
		}
		if err := enc.Encode(answer(q)); err != nil {
			log.Fatal(err)
		}
	}
}

type bundle struct {
	Name        string  `json:"name"`
	SignerName  string  `json:"signerName"`
	TrustBundle string  `json:"trustBundle"`
	Old         *bundle `json:"old"`
}

func (b bundle) internal() *certificates.ClusterTrustBundle {
	return &certificates.ClusterTrustBundle{
		ObjectMeta: metav1.ObjectMeta{Name: b.Name, ResourceVersion: "1"},
		Spec:       certificates.ClusterTrustBundleSpec{SignerName: b.SignerName, TrustBundle: b.TrustBundle},
	}
}

type fieldError struct {
	Type   string `json:"type"`
	Field  string `json:"field"`
	Detail string `json:"detail"`
}
type verdict struct {
	OK     bool         `json:"ok"`
	Errors []fieldError `json:"errors,omitempty"`
}

func validate(in bundle) verdict {
	var errs field.ErrorList
	if in.Old != nil {
		errs = validation.ValidateClusterTrustBundleUpdate(in.internal(), in.Old.internal())
	} else {
		errs = validation.ValidateClusterTrustBundle(in.internal(), validation.ValidateClusterTrustBundleOptions{})
	}
	out := verdict{OK: len(errs) == 0}
	for _, e := range errs {
		out.Errors = append(out.Errors, fieldError{string(e.Type), e.Field, e.Detail})
	}
	return out
}

type selection struct {
	Bundles       []certv1.ClusterTrustBundle `json:"bundles"`
	Name          *string                     `json:"name"`
	SignerName    *string                     `json:"signerName"`
	LabelSelector *metav1.LabelSelector       `json:"labelSelector"`
	Optional      bool                        `json:"optional"`
}
type projection struct {
	OK     bool     `json:"ok"`
	Error  string   `json:"error,omitempty"`
	PEM    string   `json:"pem"`
	SHA256 []string `json:"sha256"`
}

// project feeds the bundles through an informer, as the kubelet gets them.
func project(in selection) projection {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset()
	for i := range in.Bundles {
		if err := client.Tracker().Add(&in.Bundles[i]); err != nil {
			return projection{Error: err.Error()}
		}
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	m, err := clustertrustbundle.NewGAInformerManager(ctx, factory, cacheSize, 5*time.Minute)
	if err != nil {
		return projection{Error: err.Error()}
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return read(ctx, m, in)
}

// read mirrors projected.go collectData for one ClusterTrustBundle source.
func read(ctx context.Context, m clustertrustbundle.Manager, s selection) projection {
	var b []byte
	var err error
	switch {
	case s.Name != nil:
		b, err = m.GetTrustAnchorsByName(ctx, *s.Name, s.Optional)
	case s.SignerName != nil:
		b, err = m.GetTrustAnchorsBySigner(ctx, *s.SignerName, s.LabelSelector, s.Optional)
	default:
		err = fmt.Errorf("ClusterTrustBundle projection requires either name or signerName to be set")
	}
	if err != nil {
		return projection{Error: err.Error()}
	}
	out := projection{OK: true, PEM: string(b), SHA256: []string{}}
	for rest := b; ; {
		var blk *pem.Block
		if blk, rest = pem.Decode(rest); blk == nil {
			break
		}
		d := sha256.Sum256(blk.Bytes)
		out.SHA256 = append(out.SHA256, hex.EncodeToString(d[:]))
	}
	sort.Strings(out.SHA256)
	return out
}

func kubelet(args []string) {
	fs := flag.NewFlagSet("kubelet", flag.ExitOnError)
	var (
		kubeconfig = fs.String("kubeconfig", "", "kubeconfig of the API server")
		dir        = fs.String("dir", "", "volume directory")
		file       = fs.String("file", "ca.pem", "path inside the volume")
		name       = fs.String("name", "", "bundle name")
		signer     = fs.String("signer", "", "signer name")
		selector   = fs.String("selector", "null", "label selector as JSON; null matches nothing, {} everything")
		optional   = fs.Bool("optional", false, "missing bundle gives an empty file")
		period     = fs.Duration("period", time.Second, "sync period (a real kubelet: about 1 minute)")
	)
	fs.Parse(args)
	cfg, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	s := selection{Optional: *optional}
	if *name != "" {
		s.Name = name
	} else {
		s.SignerName = signer
		if err := json.Unmarshal([]byte(*selector), &s.LabelSelector); err != nil {
			log.Fatal(err)
		}
	}
	if err := os.MkdirAll(*dir, 0o755); err != nil {
		log.Fatal(err)
	}
	w, err := volumeutil.NewAtomicWriter(*dir, "ctb-oracle")
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	m := clustertrustbundle.NewLazyInformerManager(ctx, kubernetes.NewForConfigOrDie(cfg), cacheSize)
	enc := json.NewEncoder(os.Stdout)
	last := ""
	for ; ; time.Sleep(*period) {
		p := read(ctx, m, s)
		if p.OK {
			payload := map[string]volumeutil.FileProjection{*file: {Data: []byte(p.PEM), Mode: 0o644}}
			if err := w.Write(payload, nil); err != nil {
				p = projection{Error: "write: " + err.Error()}
			}
		}
		b, _ := json.Marshal(p)
		if string(b) != last {
			last = string(b)
			_ = enc.Encode(struct {
				Time time.Time `json:"time"`
				projection
			}{time.Now(), p})
		}
	}
}
