// An answer's body, whole and bounded, as JSON. Must not know what it means.
import { ownFailure } from './kube-failure.ts';
import type { KubeFailure } from './kube-failure.ts';
import type { StreamedAnswer } from '../transport/exchange-through.ts';

/** a page of a hundred objects at the API's own limit would be more, but nothing we list comes near this */
const maxBodyBytes = 32 * 1024 * 1024;

export type BodyRead =
  | { readonly kind: 'json'; readonly value: unknown }
  /** `type`: the content type without parameters, '' without one */
  | { readonly kind: 'bad'; readonly type: string; readonly failure: KubeFailure };

export async function readJsonBody(answer: StreamedAnswer): Promise<BodyRead> {
  const told = `the server answered ${answer.status}`;
  const type = answer.header('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  const bad = (message: string): BodyRead => ({ kind: 'bad', type, failure: ownFailure('bad-response', message) });
  if (type !== 'application/json')
    return bad(`${told} with ${type === '' ? 'no content type' : type} in place of JSON`);
  const encoding = answer.header('content-encoding');
  if (encoding !== undefined && encoding !== 'identity') return bad(`${told} in an encoding that was not asked for`);
  const bytes = await readBounded(answer.body);
  if (bytes === undefined) return bad(`${told} with more than ${maxBodyBytes} bytes`);
  try {
    return { kind: 'json', value: JSON.parse(bytes.toString('utf8')) as unknown };
  } catch {
    // the parser's own text quotes what it read, which may be a Secret
    return bad(`${told} with JSON that is broken or cut off`);
  }
}

async function readBounded(body: AsyncIterable<Uint8Array>): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
