// The messages of proto/ through protobufjs' reflection: an encoder and decoder that is not ours, to hold ours against.
// Resource names are read as bytes (the same on the wire), since a client may send ones that are not UTF-8.
import { readFileSync } from 'node:fs';
import protobuf from 'protobufjs';
import { secretTypeUrl } from '../../src/sds/delta-request.ts';

const protoFolder = new URL('../../proto/', import.meta.url).pathname;

const files = [
  'google/protobuf/any.proto',
  'google/protobuf/duration.proto',
  'google/rpc/status.proto',
  'envoy/config/core/v3/base.proto',
  'envoy/extensions/transport_sockets/tls/v3/secret.proto',
  'envoy/service/discovery/v3/discovery.proto',
];

const root = new protobuf.Root();
for (const file of files) {
  const source = readFileSync(`${protoFolder}${file}`, 'utf8')
    .replace(/string (name|resource_names_\w+|removed_resources) =/g, 'bytes $1 =')
    .replace(/^import .*$/gm, '');
  protobuf.parse(source, root, { keepCase: true });
}
root.resolveAll();

export const requestType = root.lookupType('envoy.service.discovery.v3.DeltaDiscoveryRequest');
const responseType = root.lookupType('envoy.service.discovery.v3.DeltaDiscoveryResponse');
const secretType = root.lookupType('envoy.extensions.transport_sockets.tls.v3.Secret');

/** names are one char a byte */
export type XdsRequest = {
  readonly typeUrl?: string;
  readonly subscribe?: readonly string[];
  readonly unsubscribe?: readonly string[];
  readonly held?: { readonly [name: string]: string };
  readonly nonce?: string;
  readonly rejection?: string;
};

export type XdsResource = {
  readonly name: string;
  readonly version: string;
  /** undefined when the resource has none */
  readonly ttlSeconds: number | undefined;
  readonly bodyTypeUrl: string;
  readonly secretName: string;
  readonly chain: string;
  readonly key: string;
};

export type XdsResponse = {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly resources: readonly XdsResource[];
  readonly removed: readonly string[];
};

export function encodeXdsRequest(request: XdsRequest): Buffer {
  const bytes = (names: readonly string[] = []) => names.map((name) => Buffer.from(name, 'latin1'));
  return Buffer.from(
    requestType
      .encode({
        type_url: request.typeUrl ?? secretTypeUrl,
        resource_names_subscribe: bytes(request.subscribe),
        resource_names_unsubscribe: bytes(request.unsubscribe),
        initial_resource_versions: request.held ?? {},
        response_nonce: request.nonce ?? '',
        ...(request.rejection === undefined ? {} : { error_detail: { code: 13, message: request.rejection } }),
      })
      .finish(),
  );
}

export function decodeXdsResponse(message: Uint8Array): XdsResponse {
  const plain = responseType.toObject(responseType.decode(message), { defaults: true, longs: Number }) as {
    type_url: string;
    nonce: string;
    resources: readonly PlainResource[];
    removed_resources: readonly Buffer[];
  };
  return {
    typeUrl: plain.type_url,
    nonce: plain.nonce,
    resources: plain.resources.map(readResource),
    removed: plain.removed_resources.map((name) => name.toString('latin1')),
  };
}

type PlainResource = {
  readonly name: Buffer;
  readonly version: string;
  readonly ttl: { readonly seconds: number } | null;
  readonly resource: { readonly type_url: string; readonly value: Buffer };
};

function readResource({ name, version, ttl, resource }: PlainResource): XdsResource {
  const secret = secretType.toObject(secretType.decode(resource.value), { defaults: true }) as {
    name: Buffer;
    tls_certificate: {
      certificate_chain: { inline_bytes: Buffer };
      private_key: { inline_bytes: Buffer };
    };
  };
  return {
    name: name.toString('latin1'),
    version,
    ttlSeconds: ttl?.seconds,
    bodyTypeUrl: resource.type_url,
    secretName: secret.name.toString('latin1'),
    chain: secret.tls_certificate.certificate_chain.inline_bytes.toString('latin1'),
    key: secret.tls_certificate.private_key.inline_bytes.toString('latin1'),
  };
}
