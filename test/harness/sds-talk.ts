// One peer on one stream, with the four verbs of an SDS test: ask, ack, nack, expectSilence. What comes is decoded by
// protobufjs, and each response must hold what holds for all: one name, one type URL, a nonce of its own.
import { secretTypeUrl } from '../../src/sds/delta-request.ts';
import type { FakeClock } from '../support/fake-clock.ts';
import { decodeXdsResponse, encodeXdsRequest } from './xds-messages.ts';
import type { XdsRequest, XdsResource, XdsResponse } from './xds-messages.ts';

/** A stream as a peer has it. */
export type Wire = {
  send(message: Buffer): void;
  /** what came since the last look */
  take(): readonly Buffer[];
  hangUp(): void;
};

export class SdsTalk {
  readonly #wire: Wire;
  readonly #clock: FakeClock;
  readonly #nonces = new Set<string>();
  #inbox: XdsResponse[] = [];

  constructor(wire: Wire, clock: FakeClock) {
    this.#wire = wire;
    this.#clock = clock;
  }

  ask(...names: readonly string[]): void {
    this.send({ subscribe: names });
  }

  /** The first request of a stream after a reconnect: all names, and the versions still held. */
  resume(held: { readonly [name: string]: string }, ...others: readonly string[]): void {
    this.send({ subscribe: [...Object.keys(held), ...others], held });
  }

  unsubscribe(...names: readonly string[]): void {
    this.send({ unsubscribe: names });
  }

  ack(response: XdsResponse, more: XdsRequest = {}): void {
    this.send({ typeUrl: response.typeUrl, nonce: response.nonce, ...more });
  }

  nack(response: XdsResponse, rejection: string, more: XdsRequest = {}): void {
    this.send({ nonce: response.nonce, rejection, ...more });
  }

  send(request: XdsRequest): void {
    this.#wire.send(encodeXdsRequest(request));
  }

  hangUp(): void {
    this.#wire.hangUp();
  }

  /** The next response, whatever it is. */
  async next(): Promise<XdsResponse> {
    await this.#receive();
    const response = this.#inbox.shift();
    if (response === undefined) throw new Error('expected a response, there is none');
    return response;
  }

  async expectSecret(name: string): Promise<XdsResponse & { readonly secret: XdsResource }> {
    const response = await this.next();
    const [secret] = response.resources;
    if (secret?.name !== name) throw new Error(`expected a secret for ${name}, got ${describe(response)}`);
    return { ...response, secret };
  }

  async expectRemoval(name: string): Promise<XdsResponse> {
    const response = await this.next();
    if (response.removed[0] !== name) throw new Error(`expected a removal of ${name}, got ${describe(response)}`);
    return response;
  }

  /** Nothing comes, now and in the next `ms`. */
  async expectSilence(ms = 5000): Promise<void> {
    await this.#receive();
    this.#clock.advance(ms);
    await this.#receive();
    const [response] = this.#inbox;
    if (response !== undefined) throw new Error(`expected silence, got ${describe(response)}`);
  }

  /** Everything that has come, without waiting for more than what is due now. */
  async takeAll(): Promise<readonly XdsResponse[]> {
    await this.#receive();
    return this.#inbox.splice(0);
  }

  async #receive(): Promise<void> {
    await settled();
    for (const message of this.#wire.take()) {
      const response = decodeXdsResponse(message);
      this.#holdsForAll(response);
      this.#inbox.push(response);
    }
  }

  #holdsForAll(response: XdsResponse): void {
    if (response.nonce === '' || this.#nonces.has(response.nonce))
      throw new Error(`nonce ${response.nonce} is not new`);
    this.#nonces.add(response.nonce);
    if (response.resources.length + response.removed.length > 1) throw new Error(`two names: ${describe(response)}`);
    for (const resource of response.resources) {
      if (response.typeUrl !== secretTypeUrl || resource.bodyTypeUrl !== secretTypeUrl) throw new Error('type URL');
      if (resource.secretName !== resource.name) throw new Error(`the secret is named ${resource.secretName}`);
      if (resource.ttlSeconds === undefined) throw new Error('a secret without TTL');
    }
  }
}

/** lets promises that are already settled run their course */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function describe({ typeUrl, resources, removed }: XdsResponse): string {
  const names = resources.map(({ name, version }) => `${name}@${version}`);
  return `${typeUrl.split('.').at(-1) ?? ''} [${names.join()}] removed [${removed.join()}]`;
}
