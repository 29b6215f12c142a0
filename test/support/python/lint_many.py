"""Runs pkilint's two PKIX linters on many certificates in one process, since each start of theirs takes a second.
Arguments: PEM files; `ISSUER+SUBJECT` asks the chain linter about a pair. It prints one line of JSON an argument, as the
linters print it."""

import contextlib
import io
import sys

from pkilint.bin import lint_pkix_cert, lint_pkix_signer_signee_cert_chain

OPTIONS = ["lint", "-s", "NOTICE", "-f", "JSON"]


def report(argument):
    linter = lint_pkix_signer_signee_cert_chain if "+" in argument else lint_pkix_cert
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        linter.main(OPTIONS + argument.split("+"))
    return output.getvalue().strip()


for file_or_pair in sys.argv[1:]:
    print(report(file_or_pair))
