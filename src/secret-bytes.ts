// Private key material: whatever prints, logs or serialises it shows a placeholder. `reveal` is the one way to the
// bytes, so a search for it lists every place where a key is used. Must not know any room.
import { inspect } from 'node:util';

export class SecretBytes {
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** the bytes themselves, not a copy: do not keep them and do not change them */
  reveal(): Uint8Array {
    return this.#bytes;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}
