// First in, first out, for lines of many thousands: taking the first costs the same however long the line is. Must not
// know what waits in it.

/** so many taken places are kept before the array is cut; cutting copies what waits */
const maxTakenPlaces = 1024;

export class JobQueue<Job> {
  #jobs: Job[] = [];
  #first = 0;

  get length(): number {
    return this.#jobs.length - this.#first;
  }

  push(job: Job): void {
    this.#jobs.push(job);
  }

  peek(): Job | undefined {
    return this.#jobs[this.#first];
  }

  shift(): Job | undefined {
    const job = this.#jobs[this.#first];
    if (job === undefined) return undefined;
    this.#first += 1;
    if (this.#first === this.#jobs.length) {
      this.#jobs = [];
      this.#first = 0;
    } else if (this.#first >= maxTakenPlaces && this.#first * 2 >= this.#jobs.length) {
      this.#jobs = this.#jobs.slice(this.#first);
      this.#first = 0;
    }
    return job;
  }
}
