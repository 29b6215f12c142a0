// Collects the faults of one CA, so that a person gets all of them at once. It must not know which faults there are.
import { LeafgateError } from '../errors.ts';

export class FaultList {
  readonly #faults: LeafgateError[] = [];

  get all(): readonly LeafgateError[] {
    return this.#faults;
  }

  add(fault: LeafgateError): void {
    this.#faults.push(fault);
  }

  /** the result of `read`; undefined when it threw, and the fault is kept */
  attempt<Result>(read: () => Result): Result | undefined {
    try {
      return read();
    } catch (thrown) {
      this.add(LeafgateError.from(thrown));
      return undefined;
    }
  }
}
