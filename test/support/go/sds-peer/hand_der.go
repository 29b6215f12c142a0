package main

// What an optimising Go team would write: the leaf's DER by hand, one leaf key, no check of the signature just made.

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

const (
	tagInteger   = 0x02
	tagBitString = 0x03
	tagOctets    = 0x04
	tagOID       = 0x06
	tagUTCTime   = 0x17
	tagSequence  = 0x30
	utcTime      = "060102150405Z"
)

var (
	version3        = []byte{0xa0, 3, tagInteger, 1, 2}
	ecdsaWithSHA256 = []byte{tagSequence, 10, tagOID, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2}
	critical        = []byte{1, 1, 0xff}
	emptySequence   = []byte{tagSequence, 0}
	keyUsage        = []byte{0x55, 0x1d, 0x0f}
	extKeyUsage     = []byte{0x55, 0x1d, 0x25}
	basicConstraint = []byte{0x55, 0x1d, 0x13}
	authorityKeyID  = []byte{0x55, 0x1d, 0x23}
	subjectAltName  = []byte{0x55, 0x1d, 0x11}
	serverAuth      = []byte{tagSequence, 10, tagOID, 8, 0x2b, 6, 1, 5, 5, 7, 3, 1}
	digitalSign     = []byte{tagBitString, 2, 7, 0x80}
)

func (a *authority) handMinter(key *ecdsa.PrivateKey) (mintFunc, error) {
	spki, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	extensions := concat(
		tlv(tagSequence, tlv(tagOID, keyUsage), critical, tlv(tagOctets, digitalSign)),
		tlv(tagSequence, tlv(tagOID, extKeyUsage), tlv(tagOctets, serverAuth)),
		tlv(tagSequence, tlv(tagOID, basicConstraint), critical, tlv(tagOctets, emptySequence)),
		tlv(tagSequence, tlv(tagOID, authorityKeyID), tlv(tagOctets, tlv(tagSequence, tlv(0x80, a.certificate.SubjectKeyId)))),
	)
	return func(name string) (*discovery.Resource, error) {
		serial := make([]byte, 16)
		if _, err := rand.Read(serial); err != nil {
			return nil, err
		}
		serial[0] = serial[0]&0x3f | 0x40
		now := time.Now().UTC()
		validity := tlv(tagSequence,
			tlv(tagUTCTime, []byte(now.Add(-5*time.Minute).Format(utcTime))),
			tlv(tagUTCTime, []byte(now.Add(a.lifetime).Format(utcTime))))
		san := tlv(tagSequence, tlv(tagOID, subjectAltName), critical, tlv(tagOctets, tlv(tagSequence, tlv(0x82, []byte(name)))))
		tbs := tlv(tagSequence, version3, tlv(tagInteger, serial), ecdsaWithSHA256, a.certificate.RawSubject, validity,
			emptySequence, spki, tlv(0xa3, tlv(tagSequence, extensions, san)))
		digest := sha256.Sum256(tbs)
		signature, err := ecdsa.SignASN1(rand.Reader, a.key, digest[:])
		if err != nil {
			return nil, err
		}
		der := tlv(tagSequence, tbs, ecdsaWithSHA256, tlv(tagBitString, []byte{0}, signature))
		return a.resource(name, hex.EncodeToString(serial), der, keyPEM)
	}, nil
}

// tlv writes lengths up to 65535, enough for a leaf.
func tlv(tag byte, parts ...[]byte) []byte {
	content := concat(parts...)
	length := len(content)
	switch {
	case length < 0x80:
		return concat([]byte{tag, byte(length)}, content)
	case length < 0x100:
		return concat([]byte{tag, 0x81, byte(length)}, content)
	default:
		return concat([]byte{tag, 0x82, byte(length >> 8), byte(length)}, content)
	}
}

func concat(parts ...[]byte) []byte {
	var all []byte
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}
