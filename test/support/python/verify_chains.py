"""Checks chains with the path verifier of `cryptography`, by name. Arguments: triples of CA file, chain file, name.
It prints one line a triple, "ok" or the error, and exits 1 when any was not ok."""

import ipaddress
import sys

from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError


def subject_of(name):
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def verify(ca_file, chain_file, name):
    with open(ca_file, "rb") as roots, open(chain_file, "rb") as chain:
        store = Store(x509.load_pem_x509_certificates(roots.read()))
        leaf, *between = x509.load_pem_x509_certificates(chain.read())
    PolicyBuilder().store(store).build_server_verifier(subject_of(name)).verify(leaf, between)


def report(triple):
    try:
        verify(*triple)
    except (VerificationError, ValueError) as error:
        return " ".join(str(error).split())
    return "ok"


arguments = sys.argv[1:]
lines = [report(arguments[start : start + 3]) for start in range(0, len(arguments), 3)]
print("\n".join(lines))
sys.exit(any(line != "ok" for line in lines))
