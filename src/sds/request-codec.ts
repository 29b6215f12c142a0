// Bytes to DeltaRequest, by hand: no reflection on the hot path (design decision 11). A test holds it equal to
// proto/envoy/service/discovery/v3/discovery.proto. Unknown fields are skipped, node (61 KB from Envoy) among them.
import type { AskedName } from '../names/name-types.ts';
import type { DeltaRequest } from './delta-request.ts';
import { sdsErrors } from './sds-errors.ts';
import { maxNamesPerStream } from './sds-settings.ts';
import { WireReader } from './wire-reader.ts';

/** field numbers of DeltaDiscoveryRequest */
const field = { typeUrl: 2, subscribe: 3, unsubscribe: 4, heldVersions: 5, nonce: 6, errorDetail: 7 } as const;

/** longest type URL that is echoed, nonce that is looked up and version that is parsed; ours are below 100 bytes */
const maxTokenBytes = 256;

/** of a NACK's text we read this much before it is scrubbed and cut further */
const maxRejectionBytes = 8192;

const noNames: readonly AskedName[] = [];
const emptyName = '' as AskedName;
const noVersions: ReadonlyMap<AskedName, string> = new Map();

/** What a request may name in all its lists together: a stream's names, asked and given up and still held. */
const maxListed = 3 * maxNamesPerStream;

/** Throws `sds-request-malformed` or `sds-request-too-large`, and nothing else. Keeps no reference to `bytes`. */
export function decodeDeltaRequest(bytes: Buffer): DeltaRequest {
  const reader = new WireReader(bytes);
  const draft = new RequestDraft();
  while (reader.next()) {
    if (!readField(reader, draft)) reader.skip();
  }
  return draft.finished();
}

function readField(reader: WireReader, draft: RequestDraft): boolean {
  if (reader.isBytes(field.subscribe)) draft.subscribe = draft.listed(draft.subscribe, reader);
  else if (reader.isBytes(field.nonce)) draft.nonce = token(reader);
  else if (reader.isBytes(field.typeUrl)) draft.typeUrl = token(reader);
  else if (reader.isBytes(field.unsubscribe)) draft.unsubscribe = draft.listed(draft.unsubscribe, reader);
  else if (reader.isBytes(field.heldVersions)) draft.held(reader.inner());
  else if (reader.isBytes(field.errorDetail)) draft.rejection = rejectionText(reader.inner());
  else return false;
  return true;
}

class RequestDraft {
  typeUrl = '';
  nonce = '';
  rejection: string | undefined;
  subscribe: AskedName[] | undefined;
  unsubscribe: AskedName[] | undefined;
  #heldVersions: Map<AskedName, string> | undefined;
  #count = 0;

  listed(names: AskedName[] | undefined, reader: WireReader): AskedName[] {
    this.#counted();
    const name = asked(reader);
    if (names === undefined) return [name];
    names.push(name);
    return names;
  }

  held(entry: WireReader): void {
    this.#counted();
    let name = emptyName;
    let version = '';
    while (entry.next()) {
      if (entry.isBytes(1)) name = asked(entry);
      else if (entry.isBytes(2)) version = isToken(entry) ? entry.latin1() : '';
      else entry.skip();
    }
    (this.#heldVersions ??= new Map<AskedName, string>()).set(name, version);
  }

  finished(): DeltaRequest {
    return {
      typeUrl: this.typeUrl,
      subscribe: this.subscribe ?? noNames,
      unsubscribe: this.unsubscribe ?? noNames,
      heldVersions: this.#heldVersions ?? noVersions,
      nonce: this.nonce,
      rejection: this.rejection,
    };
  }

  #counted(): void {
    this.#count += 1;
    if (this.#count > maxListed) throw sdsErrors.error('sds-request-too-large', { max: maxListed, unit: 'names' });
  }
}

/** This is the parser that makes asked names: the bytes as they came, one char a byte. */
function asked(reader: WireReader): AskedName {
  return reader.latin1() as AskedName;
}

function isToken(reader: WireReader): boolean {
  return reader.end - reader.start <= maxTokenBytes;
}

/** A string that is compared or echoed; one that is too long to be ours or Envoy's is malformed. */
function token(reader: WireReader): string {
  if (!isToken(reader)) throw sdsErrors.error('sds-request-malformed', { reason: 'type URL or nonce too long' });
  return reader.latin1();
}

/** google.rpc.Status: its presence makes the request a NACK, its message may be missing */
function rejectionText(status: WireReader): string {
  let message = '';
  while (status.next()) {
    if (status.isBytes(2)) message = status.utf8(maxRejectionBytes);
    else status.skip();
  }
  return message;
}
