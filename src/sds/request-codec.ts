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

/** a server name has a length of two bytes (RFC 6066, section 3); what is longer comes from no client */
const maxNameBytes = 65_535;

/** in a map entry or a status: ours and Envoy's have two or three */
const maxInnerFields = 256;

const noNames: readonly AskedName[] = [];
const emptyName = '' as AskedName;
const noVersions: ReadonlyMap<AskedName, string> = new Map();

/** What a request may name in all its lists together: a stream's names, asked and given up and still held. */
const maxListed = 3 * maxNamesPerStream;

/** fields read in one part: about 0.1 ms, unless they are as long as they may be */
const fieldsPerPart = 512;

/** Throws `sds-request-malformed` or `sds-request-too-large`, and nothing else. Keeps no reference to `bytes`. */
export function decodeDeltaRequest(bytes: Buffer): DeltaRequest {
  const decoder = new DeltaRequestDecoder(bytes);
  for (;;) {
    const request = decoder.readPart();
    if (request !== undefined) return request;
  }
}

/** The same a part at a time, so that 16 MiB never hold the event loop. */
export class DeltaRequestDecoder {
  readonly #reader: WireReader;
  readonly #draft = new RequestDraft();

  constructor(bytes: Buffer) {
    this.#reader = new WireReader(bytes);
  }

  /** The request when it is read in full, else undefined: read on. */
  readPart(): DeltaRequest | undefined {
    for (let fields = 0; this.#reader.next(); fields += 1) {
      if (!readField(this.#reader, this.#draft)) this.#reader.skip();
      if (fields >= fieldsPerPart) return undefined;
    }
    return this.#draft.finished();
  }
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
    eachField(entry, () => {
      if (entry.isBytes(1)) name = asked(entry);
      else if (entry.isBytes(2)) version = isToken(entry) ? entry.latin1() : '';
      else entry.skip();
    });
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
  if (reader.end - reader.start > maxNameBytes) throw malformed('name too long');
  return reader.latin1() as AskedName;
}

function isToken(reader: WireReader): boolean {
  return reader.end - reader.start <= maxTokenBytes;
}

/** A string that is compared or echoed; one that is too long to be ours or Envoy's is malformed. */
function token(reader: WireReader): string {
  if (!isToken(reader)) throw malformed('type URL or nonce too long');
  return reader.latin1();
}

/** google.rpc.Status: its presence makes the request a NACK, its message may be missing */
function rejectionText(status: WireReader): string {
  let message = '';
  eachField(status, () => {
    if (status.isBytes(2)) message = status.utf8(maxRejectionBytes);
    else status.skip();
  });
  return message;
}

/** A message inside the request is read in one go, so it must be short. */
function eachField(message: WireReader, read: () => void): void {
  for (let fields = 0; message.next(); fields += 1) {
    if (fields === maxInnerFields) throw malformed('too many fields');
    read();
  }
}

function malformed(reason: string): Error {
  return sdsErrors.error('sds-request-malformed', { reason });
}
