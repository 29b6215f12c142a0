// Makes leaves with one signer: one leaf key at a time, renewed every lifetime, and the template that goes with it
// (design decision 9). The first leaf of each key, and a sample after it, is parsed back and verified before anybody
// gets it. Must not know policies, caches or limits.
import { epoch, minus, type Clock, type EpochMs } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import type { ParsedName } from '../names/name-types.ts';
import type { Pool } from '../pool/pool-types.ts';
import type { Certificate, Der, LeafKey, Signer } from '../x509/certificate-types.ts';
import { checkLeaf } from '../x509/check-leaf.ts';
import { createLeafKey } from '../x509/leaf-key.ts';
import { createLeafTemplate, encodeLeaf, type LeafDraft, type LeafTemplate } from '../x509/leaf-template.ts';
import { isNamePermitted } from '../x509/name-constraints.ts';
import { leafChainPem } from '../x509/pem.ts';
import { createSerial } from '../x509/serial.ts';
import { canSignSynchronously, signLeaf, signLeafSync } from '../x509/sign-leaf.ts';
import { mintErrors } from './mint-errors.ts';
import type { MintEvents } from './mint-events.ts';
import { backdateMs, checkEvery, lifetimeJitter, type MintSettings } from './mint-settings.ts';
import type { Leaf } from './mint-types.ts';
import { formatVersion } from './sds-version.ts';

export type MintableName = Exclude<ParsedName, { kind: 'refused' }>;

export type PressTools = {
  readonly clock: Clock;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly settings: MintSettings;
  readonly events: MintEvents;
};

/** One leaf key with its template, and how many leaves were made with it. */
type Plate = { readonly key: LeafKey; readonly template: LeafTemplate; readonly madeAt: number; leaves: number };

/** A leaf before its signature. */
type Blank = {
  readonly plate: Plate;
  readonly draft: LeafDraft;
  readonly serialHex: string;
  readonly notBefore: EpochMs;
  readonly notAfter: EpochMs;
};

export class LeafPress {
  readonly signer: Signer;
  /** whether `makeSync` may be used: the signature is fast enough for the event loop */
  readonly isSynchronous: boolean;
  readonly #keyIdPrefix: string;
  readonly #constrained: readonly Certificate[];
  readonly #tools: PressTools;
  #plate: Plate | undefined;

  constructor(pool: Pool, tools: PressTools) {
    this.signer = pool.signer;
    this.isSynchronous = canSignSynchronously(pool.signer);
    this.#keyIdPrefix = pool.active.keyIdPrefix;
    // the anchor too: OpenSSL applies the constraints of a root, though RFC 5280 6.1 does not ask for it
    this.#constrained = [pool.signer.certificate, ...pool.signer.chain, pool.active.anchor].filter(
      (certificate) => certificate.nameConstraints !== undefined,
    );
    this.#tools = tools;
  }

  permits(name: MintableName): boolean {
    return this.#constrained.length === 0 || isNamePermitted(this.#constrained, name);
  }

  /** Throws what signing or the check throws; only where `isSynchronous`. */
  makeSync(name: MintableName): Leaf {
    const blank = this.#blank(name);
    return this.#finish(blank, signLeafSync(blank.draft), name);
  }

  /** Rejects with what signing or the check throws. */
  async make(name: MintableName): Promise<Leaf> {
    const blank = this.#blank(name);
    return this.#finish(blank, await signLeaf(blank.draft), name);
  }

  #currentPlate(): Plate {
    const { clock, settings, events } = this.#tools;
    // monotonic: a wall clock that is set back must not keep a key in use for longer than a lifetime
    const at = clock.monotonic();
    const current = this.#plate;
    if (current !== undefined && at - current.madeAt < settings.leafLifetimeMs) return current;
    const key = createLeafKey(clock.now());
    const fresh: Plate = { key, template: createLeafTemplate(this.signer, key), madeAt: at, leaves: 0 };
    this.#plate = fresh;
    events.leafKeyRenewed();
    return fresh;
  }

  #blank(name: MintableName): Blank {
    const { clock, randomBytes, settings } = this.#tools;
    const plate = this.#currentPlate();
    const serial = createSerial(randomBytes);
    const now = clock.now();
    const notBefore = wholeSecond(minus(now, backdateMs));
    const notAfter = endOfLife(now, serial, settings, this.signer);
    const draft = encodeLeaf(plate.template, { name, serial, notBefore, notAfter });
    return { plate, draft, serialHex: Buffer.from(serial).toString('hex'), notBefore, notAfter };
  }

  #finish({ plate, serialHex, notBefore, notAfter }: Blank, der: Der, name: MintableName): Leaf {
    if (plate.leaves % checkEvery === 0) checked(der, this.signer, name);
    plate.leaves += 1;
    return {
      version: formatVersion(this.#keyIdPrefix, notAfter, serialHex),
      serialHex,
      notBefore,
      notAfter,
      chainPem: leafChainPem(der, this.signer.chain),
      privateKeyPem: plate.key.privateKeyPem,
    };
  }
}

/** now + lifetime, shortened by up to a tenth, never beyond the signer's; the serial's last octets are the dice */
function endOfLife(now: EpochMs, serial: Uint8Array, settings: MintSettings, signer: Signer): EpochMs {
  const dice = ((serial[serial.length - 1] ?? 0) * 256 + (serial[serial.length - 2] ?? 0)) / 65_536;
  const wanted = now + settings.leafLifetimeMs * (1 - lifetimeJitter * dice);
  return wholeSecond(epoch(Math.min(wanted, signer.notAfter)));
}

/** X.509 times have no fractions; rounding down keeps every promise about an end */
function wholeSecond(at: EpochMs): EpochMs {
  return epoch(Math.floor(at / 1000) * 1000);
}

function checked(der: Der, signer: Signer, name: MintableName): void {
  try {
    checkLeaf(der, signer, name);
  } catch (cause) {
    throw mintErrors.error('mint-leaf-check-failed', { detail: LeafgateError.from(cause).message }, cause);
  }
}
