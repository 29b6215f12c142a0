// A root that is as large as a test wants, by an extension that nobody reads: for what has to be refused, or to pass, at a limit.
import { randomBytes } from 'node:crypto';
import { extension } from '../../src/x509/encode-extensions.ts';
import { octetString } from '../../src/x509/forge-asn1.ts';
import { makeCa, type MadeCa } from './ca-workshop.ts';
import { hoursAgo } from './credential-workshop.ts';

/** what a root has beside the filling */
const bareBytes = 400;

/** valid now; its DER has about so many characters of base64 */
export function makeBigRoot(name: string, base64Chars: number): MadeCa {
  const filling = octetString(randomBytes((base64Chars * 3) / 4 - bareBytes));
  return makeCa({
    name,
    notBefore: hoursAgo(2),
    notAfter: hoursAgo(-24 * 100),
    extensions: (good) => [
      good.basicConstraints,
      good.keyUsage,
      good.subjectKeyId,
      extension('1.3.6.1.4.1.55555.1', 'plain', filling),
    ],
  });
}
