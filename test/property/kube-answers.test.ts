// Whatever an API server, or what stands in its place, says: it is read, or refused with an error of ours, bounded and
// printable.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LeafgateError } from '../../src/errors.ts';
import { failureOfStatus } from '../../src/kube/kube-failure.ts';
import type { WatchEvent } from '../../src/kube/kube-types.ts';
import { parseKubeconfig } from '../../src/kube/parse-kubeconfig.ts';
import { judgeObject, judgePage, readObject } from '../../src/kube/read-object.ts';
import { readWatchStream } from '../../src/kube/watch-stream.ts';
import { secretAt, secrets } from '../support/kube-world.ts';

const json = fc.jsonValue({ maxDepth: 4 });
const status = fc.record(
  {
    kind: fc.constantFrom('Status', 'Other'),
    code: fc.oneof(fc.integer(), json),
    reason: json,
    message: fc.oneof(fc.string({ maxLength: 4000, unit: 'binary' }), json),
    details: fc.oneof(fc.record({ causes: fc.array(json), retryAfterSeconds: json }, { requiredKeys: [] }), json),
  },
  { requiredKeys: [] },
);
/** an object with one part of it replaced */
const mangled = fc
  .tuple(fc.constantFrom('apiVersion', 'kind', 'metadata', 'name', 'labels', 'finalizers', 'uid', 'generation'), json)
  .map(([part, value]) => {
    const object = secretAt('7');
    return part in object
      ? { ...object, [part]: value }
      : { ...object, metadata: { ...object.metadata, [part]: value } };
  });

describe('an answer of any kind', () => {
  it('is a failure that is bounded, printable and without PEM, or none', () => {
    fc.assert(
      fc.property(fc.oneof(status, json), (value) => {
        const failure = failureOfStatus(value);
        if (failure === undefined) return;
        const texts = [failure.message, ...failure.causes.flatMap((cause) => Object.values(cause))];
        for (const text of texts) {
          expect(text.length).toBeLessThanOrEqual(1025);
          expect(text).not.toMatch(/[\u0000-\u001f\u007f\u2028]|-----BEGIN/);
        }
        expect(failure.retryAfterMs ?? 0).toBeLessThanOrEqual(3_600_000);
      }),
    );
  });

  it('is an object with a name and texts where texts belong, or none', () => {
    fc.assert(
      fc.property(fc.oneof(mangled, json), (value) => {
        const object = readObject(value, secrets);
        if (object === undefined) return;
        expect([typeof object.apiVersion, typeof object.kind, typeof object.metadata.name]).toEqual(
          Array(3).fill('string'),
        );
        for (const text of Object.values(object.metadata.labels ?? {})) expect(text).toBeTypeOf('string');
        judgeObject(value, secrets, 'pool');
      }),
    );
    fc.assert(
      fc.property(
        fc.record({ metadata: json, items: fc.oneof(json, fc.array(mangled)) }),
        (value) => void judgePage(value, secrets),
      ),
    );
  });

  it('is a watch that gives whole events only, cut in whatever pieces', async () => {
    const line = fc.oneof(
      json.map((value) => JSON.stringify(value)),
      fc.string().map((text) => text.replaceAll('\n', '')),
      fc
        .tuple(fc.constantFrom('ADDED', 'DELETED', 'BOOKMARK', 'ERROR', 'LATER'), fc.oneof(mangled, status, json))
        .map(([type, object]) => JSON.stringify({ type, object })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 6 }), fc.integer({ min: 1, max: 40 }), async (lines, size) => {
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''));
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
          bytes.subarray(index * size, (index + 1) * size),
        );
        const events: WatchEvent[] = [];
        const body = (async function* () {
          yield* pieces;
        })();
        const answer = { status: 200, header: () => undefined, body };
        await readWatchStream(answer, secrets, (event) => void events.push(event));
        for (const event of events) if (event.kind !== 'bookmark') expect(event.object.metadata.name).not.toBe('');
      }),
    );
  });
});

describe('a kubeconfig of any kind', () => {
  it('is read, or refused with an error of ours that quotes no secret', () => {
    const entry = (member: string) =>
      fc.array(
        fc.record({
          name: fc.constant('x'),
          [member]: fc.oneof(
            json,
            fc.dictionary(
              fc.constantFrom('server', 'token', 'user', 'cluster', 'exec', 'client-key', 'certificate-authority-data'),
              fc.oneof(fc.constant('x'), fc.constant('https://k'), json),
            ),
          ),
        }),
      );
    const content = fc.oneof(
      fc.string(),
      json.map((value) => JSON.stringify(value)),
      fc
        .record({
          'current-context': fc.constant('x'),
          contexts: entry('context'),
          clusters: entry('cluster'),
          users: entry('user'),
        })
        .map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(content, (text) => {
        try {
          parseKubeconfig([{ path: '/kubeconfig', folder: '/', text }]);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(LeafgateError);
          expect(LeafgateError.from(thrown).code).toMatch(/^kubeconfig-/);
        }
      }),
    );
  });
});
