// The three answers, as bytes of a DeltaDiscoveryResponse, by hand and with one allocation each (design decision 11).
// A test holds them equal to proto/envoy/service/discovery/v3/discovery.proto. The type URL is one constant in both
// places: where they differ Envoy logs the private key (facts S5).
import type { DurationMs } from '../clock.ts';
import type { Leaf } from '../mint/mint-types.ts';
import type { AskedName } from '../names/name-types.ts';
import { secretTypeUrl } from './delta-request.ts';
import { fieldSize, varintSize, WireWriter } from './wire-writer.ts';

/** field numbers, by message */
const response = { resources: 2, typeUrl: 4, nonce: 5, removedResources: 6 } as const;
const resource = { version: 1, body: 2, name: 3, ttl: 6 } as const;
const any = { typeUrl: 1, value: 2 } as const;
const secret = { name: 1, tlsCertificate: 2 } as const;
const tlsCertificate = { chain: 1, key: 2 } as const;
const dataSource = { inlineBytes: 2 } as const;
const duration = { seconds: 1 } as const;

const typeUrlSize = fieldSize(secretTypeUrl.length);

export type SecretAnswer = {
  readonly name: AskedName;
  readonly leaf: Leaf;
  /** whole seconds are sent, rounded down */
  readonly ttlMs: DurationMs;
  readonly nonce: string;
};

/** One secret under its asked name, with its TTL. */
export function encodeSecret({ name, leaf, ttlMs, nonce }: SecretAnswer): Buffer {
  const key = leaf.privateKeyPem.reveal();
  const ttlSeconds = Math.max(1, Math.floor(ttlMs / 1000));
  const chainSource = fieldSize(leaf.chainPem.length);
  const keySource = fieldSize(key.length);
  const certificateSize = fieldSize(chainSource) + fieldSize(keySource);
  const secretSize = fieldSize(name.length) + fieldSize(certificateSize);
  const anySize = typeUrlSize + fieldSize(secretSize);
  const ttlSize = 1 + varintSize(ttlSeconds);
  const resourceSize =
    fieldSize(leaf.version.length) + fieldSize(anySize) + fieldSize(name.length) + fieldSize(ttlSize);

  const out = new WireWriter(fieldSize(resourceSize) + typeUrlSize + fieldSize(nonce.length));
  out.open(response.resources, resourceSize);
  out.latin1(resource.version, leaf.version);
  out.open(resource.body, anySize);
  out.latin1(any.typeUrl, secretTypeUrl);
  out.open(any.value, secretSize);
  out.latin1(secret.name, name);
  out.open(secret.tlsCertificate, certificateSize);
  out.open(tlsCertificate.chain, chainSource);
  out.raw(dataSource.inlineBytes, leaf.chainPem);
  out.open(tlsCertificate.key, keySource);
  out.raw(dataSource.inlineBytes, key);
  out.latin1(resource.name, name);
  out.open(resource.ttl, ttlSize);
  out.varint(duration.seconds, ttlSeconds);
  out.latin1(response.typeUrl, secretTypeUrl);
  out.latin1(response.nonce, nonce);
  return out.bytes;
}

/** There is no secret of this name: the waiting handshakes fail at once. */
export function encodeRemoval(name: AskedName, nonce: string): Buffer {
  const out = new WireWriter(typeUrlSize + fieldSize(nonce.length) + fieldSize(name.length));
  out.latin1(response.typeUrl, secretTypeUrl);
  out.latin1(response.nonce, nonce);
  out.latin1(response.removedResources, name);
  return out.bytes;
}

/** Nothing to say about this type, or nothing was asked. */
export function encodeEmpty(typeUrl: string, nonce: string): Buffer {
  const out = new WireWriter(fieldSize(typeUrl.length) + fieldSize(nonce.length));
  out.latin1(response.typeUrl, typeUrl);
  out.latin1(response.nonce, nonce);
  return out.bytes;
}
