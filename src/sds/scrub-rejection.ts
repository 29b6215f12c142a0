// Makes a NACK's text safe to show: Envoy may quote our whole answer in it, private key included (facts S5). Must not
// know who shows it.
import { printable } from '../errors.ts';

/** a PEM block, cut off or not; in Envoy's text its line ends are written as backslash n */
const pemBlock = /-----BEGIN[\s\S]*?(?:-----END[^-]*-----|$)/g;

/** the rest of a block whose beginning was cut off: base64 of at least two thirds of a PEM line */
const base64Run = /[A-Za-z0-9+/=]{40,}/g;

/** One line, at most 300 chars, without PEM and without long base64. */
export function scrubRejection(text: string): string {
  return printable(text.replace(pemBlock, '[PEM removed]').replace(base64Run, '[base64 removed]'));
}
