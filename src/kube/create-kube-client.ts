// The client of one API server: each call as one or a few requests, in the form that Kubernetes documents. Must not know
// what the objects are for.
import type { Clock, DurationMs } from '../clock.ts';
import { printable } from '../errors.ts';
import { isRecord } from '../is-record.ts';
import { ApiConnection, defaultCallTimeoutMs, headOf } from './api-connection.ts';
import type { ApiCall, Outcome } from './api-connection.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { failureOfAnswer, isAbsentObject, isSuccess } from './judge-answer.ts';
import { kubeFailureOf } from './kube-failure.ts';
import type {
  AccessAnswer,
  AccessQuestion,
  ApplyTerms,
  KubeClient,
  KubeObject,
  ObjectList,
  ObjectPlace,
  ObjectQuery,
  PatchTerms,
  Preconditions,
  WatchTerms,
  WriteTerms,
} from './kube-types.ts';
import { callText, collectionPath, groupVersionPath, objectPath, queryText, selectorsOf } from './object-path.ts';
import { readJsonBody } from './read-body.ts';
import { badShape, judgeObject, judgePage } from './read-object.ts';
import { readWatchStream } from './watch-stream.ts';

export type KubeClientOptions = {
  readonly access: ClusterAccess;
  readonly clock: Clock;
  /** of every call but a watch; a client for a Lease wants less than its renew deadline */
  readonly callTimeoutMs?: DurationMs;
};

/** objects a page: bounds memory, and is one page for all that is followed by name */
const pageLimit = 200;

export function createKubeClient({ access, clock, callTimeoutMs }: KubeClientOptions): KubeClient {
  return new Client(new ApiConnection({ access, clock, callTimeoutMs: callTimeoutMs ?? defaultCallTimeoutMs }));
}

class Client implements KubeClient {
  readonly #connection: ApiConnection;

  constructor(connection: ApiConnection) {
    this.#connection = connection;
  }

  async get(place: ObjectPlace): Promise<KubeObject | undefined> {
    const call: ApiCall = {
      text: callText('get', place),
      method: 'GET',
      path: objectPath(place),
      isIdempotent: true,
    };
    return this.#connection.ask(call, async (answer): Promise<Outcome<KubeObject | undefined>> => {
      const body = await readJsonBody(answer);
      if (isAbsentObject(answer.status, body)) return { kind: 'done', value: undefined };
      if (!isSuccess(answer.status)) return { kind: 'failed', failure: failureOfAnswer(headOf(answer), body) };
      if (body.kind === 'bad') return { kind: 'failed', failure: body.failure };
      return judgeObject(body.value, place.resource, place.name);
    });
  }

  async list(query: ObjectQuery): Promise<ObjectList> {
    try {
      return await this.#listPages(query, pageLimit);
    } catch (thrown) {
      // the pages took longer than the server keeps them: in one piece, as client-go does
      if (kubeFailureOf(thrown).kind !== 'gone') throw thrown;
      return this.#listPages(query, undefined);
    }
  }

  async create(place: ObjectPlace, body: KubeObject, terms: WriteTerms = {}): Promise<KubeObject> {
    const path = `${collectionPath(place.resource, place.namespace)}${queryText(writeParameters(terms))}`;
    return this.#write(place, { text: callText('create', place), method: 'POST', path, body, isIdempotent: false });
  }

  async apply(place: ObjectPlace, body: KubeObject, terms: ApplyTerms): Promise<KubeObject> {
    const parameters = { ...writeParameters(terms), force: terms.force };
    return this.#write(place, {
      text: callText('apply', place),
      method: 'PATCH',
      path: `${objectPath(place, terms.subresource)}${queryText(parameters)}`,
      body,
      contentType: 'application/apply-patch+yaml',
      isIdempotent: true,
    });
  }

  async mergePatch(place: ObjectPlace, patch: object, terms: PatchTerms = {}): Promise<KubeObject> {
    return this.#write(place, {
      text: callText('patch', place),
      method: 'PATCH',
      path: `${objectPath(place, terms.subresource)}${queryText(writeParameters(terms))}`,
      body: patch,
      contentType: 'application/merge-patch+json',
      isIdempotent: true,
    });
  }

  async replace(place: ObjectPlace, body: KubeObject): Promise<KubeObject> {
    const path = objectPath(place);
    return this.#write(place, { text: callText('update', place), method: 'PUT', path, body, isIdempotent: true });
  }

  async remove(place: ObjectPlace, preconditions?: Preconditions): Promise<'removed' | 'absent'> {
    const call: ApiCall = {
      text: callText('delete', place),
      method: 'DELETE',
      path: objectPath(place),
      body: { kind: 'DeleteOptions', apiVersion: 'v1', ...(preconditions === undefined ? {} : { preconditions }) },
      isIdempotent: true,
    };
    return this.#connection.ask(call, async (answer): Promise<Outcome<'removed' | 'absent'>> => {
      const body = await readJsonBody(answer);
      if (isAbsentObject(answer.status, body)) return { kind: 'done', value: 'absent' };
      if (!isSuccess(answer.status)) return { kind: 'failed', failure: failureOfAnswer(headOf(answer), body) };
      return body.kind === 'json' ? { kind: 'done', value: 'removed' } : { kind: 'failed', failure: body.failure };
    });
  }

  async mayI(question: AccessQuestion): Promise<AccessAnswer> {
    const call: ApiCall = {
      text: `ask whether we may ${question.verb} ${question.resource}`,
      method: 'POST',
      path: `${groupVersionPath('authorization.k8s.io/v1')}/selfsubjectaccessreviews`,
      body: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: question },
      },
      isIdempotent: true,
    };
    return this.#connection.send(call, (value): Outcome<AccessAnswer> => {
      const status = isRecord(value) ? value['status'] : undefined;
      if (!isRecord(status) || typeof status['allowed'] !== 'boolean') return badShape('the review has no answer');
      const reason = status['reason'] ?? status['evaluationError'];
      return {
        kind: 'done',
        value: {
          allowed: status['allowed'],
          ...(typeof reason === 'string' && reason !== '' ? { reason: printable(reason) } : {}),
        },
      };
    });
  }

  async resourcesOf(groupVersion: string): Promise<readonly string[] | undefined> {
    const call: ApiCall = {
      text: `discover ${groupVersion}`,
      method: 'GET',
      path: groupVersionPath(groupVersion),
      isIdempotent: true,
    };
    try {
      return await this.#connection.send(call, judgeResources);
    } catch (thrown) {
      if (kubeFailureOf(thrown).kind === 'not-found') return undefined;
      throw thrown;
    }
  }

  async watch(query: ObjectQuery, terms: WatchTerms): Promise<void> {
    const { resourceVersion, timeoutSeconds, silenceMs, signal, onEvent, onOpen } = terms;
    const parameters = {
      watch: true,
      allowWatchBookmarks: true,
      resourceVersion,
      timeoutSeconds,
      ...selectorsOf(query),
    };
    const call: ApiCall = {
      text: callText('watch', query),
      method: 'GET',
      path: `${collectionPath(query.resource, query.namespace)}${queryText(parameters)}`,
      isIdempotent: true,
    };
    return this.#connection.stream(call, { silenceMs, signal }, async (answer): Promise<Outcome<void>> => {
      const isStream =
        isSuccess(answer.status) && answer.header('content-type')?.startsWith('application/json') === true;
      if (isStream) {
        onOpen?.();
        return readWatchStream(answer, query.resource, onEvent);
      }
      const body = await readJsonBody(answer);
      const isRefused = !isSuccess(answer.status) || body.kind === 'json';
      return { kind: 'failed', failure: isRefused ? failureOfAnswer(headOf(answer), body) : body.failure };
    });
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #write(place: ObjectPlace, call: ApiCall): Promise<KubeObject> {
    return this.#connection.send(call, (value) => judgeObject(value, place.resource, place.name));
  }

  async #listPages(query: ObjectQuery, limit: number | undefined): Promise<ObjectList> {
    const items: KubeObject[] = [];
    let next: string | undefined;
    for (;;) {
      const parameters = { limit, continue: next, ...selectorsOf(query) };
      const call: ApiCall = {
        text: callText('list', query),
        method: 'GET',
        path: `${collectionPath(query.resource, query.namespace)}${queryText(parameters)}`,
        isIdempotent: true,
      };
      const page = await this.#connection.send(call, (value) => judgePage(value, query.resource));
      items.push(...page.items);
      next = page.next;
      if (next === undefined) return { items, resourceVersion: page.resourceVersion };
    }
  }
}

function writeParameters({ fieldManager, dryRun }: WriteTerms) {
  return { fieldManager, dryRun: dryRun === true ? 'All' : undefined };
}

function judgeResources(value: unknown): Outcome<readonly string[]> {
  const resources = isRecord(value) ? value['resources'] : undefined;
  if (!Array.isArray(resources)) return badShape('the server answered with something that is no list of resources');
  const entries: readonly unknown[] = resources;
  const names = entries.map((entry) => (isRecord(entry) ? entry['name'] : undefined));
  return {
    kind: 'done',
    value: names.filter((name) => typeof name === 'string').filter((name) => !name.includes('/')),
  };
}
