// What a private key looks like when it has got into a text: its secret number in hex, raw, and in base64 at each of the
// three alignments, so that a search finds it inside any DER or PEM.
import type { KeyObject } from 'node:crypto';

/** long enough never to meet by chance, short enough to survive a line break of PEM */
const traceChars = 16;

function keyTraces(key: KeyObject): readonly string[] {
  const { d } = key.export({ format: 'jwk' });
  if (d === undefined) throw new Error('no private key');
  const secret = Buffer.from(d, 'base64url');
  const aligned = [0, 1, 2].map((lead) => {
    const text = Buffer.concat([Buffer.alloc(lead), secret])
      .toString('base64')
      .slice(4);
    return text.slice(0, traceChars);
  });
  return [...aligned, secret.toString('hex').slice(0, traceChars), secret.subarray(0, traceChars).toString('latin1')];
}

/** which of the traces stand in `value`, whatever shape it has; line breaks are looked through */
export function findKeyTraces(value: unknown, keys: readonly KeyObject[]): readonly string[] {
  const shapes = [JSON.stringify(value), ...(typeof value === 'string' ? [value] : [])];
  const texts = shapes.flatMap((text) => [text, text.replaceAll(/\\n|\s/g, '')]);
  return keys.flatMap(keyTraces).filter((trace) => texts.some((text) => text.includes(trace)));
}
