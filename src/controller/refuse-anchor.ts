// What the API server would refuse of an anchor (its validation of spec.trustBundle, Go's x509 behind it), found before it
// is sent, so that a bad pool is a clear condition in place of a 422. Pure.
import type { Certificate } from '../x509/certificate-types.ts';
import { refusedByGo } from '../x509/refused-by-go.ts';

/** In words that follow "its root"; undefined: the API server takes it. */
export function refuseAnchor(anchor: Certificate): string | undefined {
  const { version, basicConstraints, serialHex } = anchor;
  if (version !== 3 || basicConstraints?.isCa !== true) return 'is no CA certificate';
  // Go refuses them since 1.23, OpenSSL reads them
  if (serialHex.startsWith('-')) return 'has a negative serial number';
  const curve = unsupportedCurve(anchor);
  if (curve !== undefined) return `has a key on the curve ${curve}`;
  const unread = refusedByGo(anchor);
  if (unread !== undefined) return `has ${unread} (the API server refuses that)`;
  // beyond what the API server looks at: bytes that were damaged on the way would still parse
  return isSelfSigned(anchor) ? undefined : 'is not signed by its own key: it is no root, or was damaged';
}

/** as OpenSSL calls those that crypto/x509 knows; it refuses a certificate with another */
const goCurves: readonly string[] = ['secp224r1', 'prime256v1', 'secp384r1', 'secp521r1'];

function unsupportedCurve({ native }: Certificate): string | undefined {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = native.publicKey;
    const curve = asymmetricKeyDetails?.namedCurve ?? 'without a name';
    return asymmetricKeyType === 'ec' && !goCurves.includes(curve) ? curve : undefined;
  } catch {
    // a key that OpenSSL cannot read verifies nothing either, which is said below
    return undefined;
  }
}

function isSelfSigned({ native }: Certificate): boolean {
  try {
    return native.verify(native.publicKey);
  } catch {
    return false;
  }
}
