// What an actor is called: the URI in the certificate of a client. Pure.
import { settingsErrors } from './settings-errors.ts';

/** absolute URIs as certificates hold them (RFC 3986 3.1); Envoy joins several with a comma */
const pattern = /^[a-z][a-z0-9+.-]*:[\x21-\x2b\x2d-\x7e]+$/i;
/** longest URI that a SPIFFE implementation must take (SPIFFE-ID section 2.3) */
const maxBytes = 2048;

export function isActorUri(text: string): boolean {
  return pattern.test(text) && Buffer.byteLength(text) <= maxBytes;
}

/** One URI, or several as records show them. @throws setting-malformed */
export function parseActorOption(text: string): string {
  if (text.split(',').every(isActorUri)) return text;
  throw settingsErrors.error('setting-malformed', {
    ...{ setting: '--actor', value: text, expected: "the URI of a client's certificate" },
    example: '--actor spiffe://cluster.local/ns/a/sa/b',
  });
}
