// From a pool in a Secret to an actor that trusts by it, with nothing left out: API server, controller, bundle, both ways of
// delivery, and a real Envoy that signs from the same pool. Interception is shown by both halves: by the bundle it works, by
// the system's roots it fails for want of the issuer.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { encodeCertificatesPem } from '../../src/x509/pem.ts';
import type { Certificate } from '../../src/x509/certificate-types.ts';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import {
  applyConfigMap,
  applyDeployment,
  applyGateway,
  applySecret,
  createControllerWorld,
  newPool,
  secretPath,
  waitForBundle,
  waitForReason,
  type ControllerWorld,
} from '../support/cluster/controller-world.ts';
import { mountObjects } from '../support/cluster/mounted-objects.ts';
import { ensurePool, type OwnPool } from '../support/cluster/own-pool.ts';
import type { ApiObject } from '../support/cluster/raw-api.ts';
import { deliverByAgent, deliverInPod, type TrustDelivery } from '../support/cluster/trust-delivery-ways.ts';
import { caPem } from '../support/credential-workshop.ts';
import {
  envoyCommand,
  healthPort,
  originAddress,
  podAddress,
  sidecarCommand,
  startOrigin,
  startPodWorld,
  whyNoPodWorld,
  type PodWorld,
} from '../support/pod-world.ts';
import { mainScript } from '../support/gateway-under-test.ts';
import { startProbingActor, type ProbingActor } from '../support/probing-actor.ts';
import type { StartedProcess } from '../support/run-command.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { findTool } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';

const tools = ['envoy-1.40.0', 'curl', 'ip', 'nsenter', 'ctb-oracle'] as const;
const intercepted = ['api', 'second', 'third', 'other', 'last'].map((name) => `${name}.example.com`);
const relayed = 'relayed.example.com';
const denied = 'denied.example.com';
const hosts = [...intercepted, relayed, denied];
const labels = { 'example.com/gateway': 'gw' };
const url = (host: string): string => `https://${host}/`;
/** for what has to come about; the promise for a file is two seconds, on a machine that does nothing else */
const deadlineMs = 30_000;

type Way = { readonly delivery: TrustDelivery; readonly actor: ProbingActor };

describeWithControlPlane('trust delivery from a pool to an actor', { tools }, (plane) => {
  const reason = whyNoPodWorld();
  if (reason !== undefined) {
    test.skip(`skipped: ${reason}`, () => undefined);
    return;
  }
  const temp = createTempFolder();
  const ways = new Map<string, Way>();
  let world: ControllerWorld;
  let pod: PodWorld;
  let pool: OwnPool;
  let sidecar: StartedProcess;
  let mount: () => Promise<void>;

  const spec = (rules: readonly ApiObject[]): ApiObject => ({
    trustBundle: { labels },
    origins: { caBundleRef: { name: 'roots' } },
    destinations: { resolve: hosts.map((host) => ({ host, port: 443, address: originAddress })) },
    policy: { default: 'deny', rules },
  });
  const usualRules = [
    { name: 'read', hosts: intercepted, ports: [443], verdict: 'intercept' },
    { name: 'unread', hosts: [relayed], ports: [443], verdict: 'relay' },
  ];
  const way = (name: string): Way => {
    const found = ways.get(name);
    if (found === undefined) throw new Error(`${name} was not started`);
    return found;
  };
  const health = async (path: string): Promise<string> =>
    (await pod.run(['curl', '-sS', '--max-time', '10', `http://${podAddress}:${healthPort}${path}`])).stdout;
  /** the kubelet's rounds over the gateway's volumes go on meanwhile */
  const until = (what: string, isSo: () => Promise<boolean>): Promise<unknown> =>
    waitFor(what, async () => (await mount(), isSo()), deadlineMs);
  const fileOf = ({ delivery }: Way): string => readFileSync(join(delivery.trustDir, 'ca.pem'), 'utf8');
  const reaches = (one: Way, anchors: readonly Certificate[]): Promise<unknown> =>
    waitFor('the anchors in the file', () => fileOf(one) === textOf(anchors), deadlineMs);
  const signsWith = (id: string): Promise<unknown> =>
    until('the signer', () => {
      const lines = sidecar.stderr().split('\n');
      return Promise.resolve(lines.some((line) => line.includes('"pool taken"') && line.includes(`"caId":"${id}"`)));
    });
  /** the name must be new to Envoy, which keeps what it has until it is renewed */
  const issuerFor = async ({ actor }: Way, host: string): Promise<string> => {
    const answer = await actor.askUntilTrusted(url(host), { roots: 'bundle' });
    return answer.kind === 'answered' ? answer.tls.leaf.issuer : answer.detail;
  };
  const pids = (): readonly number[] => [...ways.values()].map(({ actor }) => actor.process.pid);

  const startGateway = async (): Promise<void> => {
    await applyDeployment(world);
    await applyGateway(world, 'gw', spec(usualRules));
    await world.start();
    await waitForReason(world, 'Ready', 'Ready', { deadlineMs });
    mount = mountObjects(world.admin, [
      { volume: pod.files, path: `/api/v1/namespaces/${world.namespace}/configmaps/gw-envoy` },
      { volume: pod.pool, path: secretPath(world, 'pool'), keys: ['pool'] },
    ]);
    await mount();
    sidecar = pod.start(sidecarCommand());
    await until('the sidecar', async () => (await health('/livez')) === 'live\n');
    const proxy = pod.start(envoyCommand(findTool('envoy-1.40.0').path ?? ''));
    await until('the pod', async () => (await health('/readyz')) === 'ready\n').catch((error: unknown) => {
      throw new Error(`${sidecar.stderr()}\n${proxy.stderr()}`, { cause: error });
    });
  };
  const startActor = async (name: string, port: number, delivery: TrustDelivery): Promise<void> => {
    await delivery.start();
    const systemRoots = temp.file('origin-ca.pem');
    const actor = await startProbingActor({ pod, temp, name, port, systemRoots, trustDir: delivery.trustDir });
    ways.set(name, { delivery, actor });
  };

  beforeAll(async () => {
    world = await createControllerWorld(plane());
    pod = await startPodWorld(temp);
    pool = await ensurePool(world);
    const rootsFrom = temp.file('root');
    const originRoots = caPem(await startOrigin(pod, temp, hosts));
    mkdirSync(join(rootsFrom, 'etc/ssl/certs'), { recursive: true });
    writeFileSync(join(rootsFrom, 'etc/ssl/certs/ca-certificates.crt'), originRoots);
    await applyConfigMap(world, 'roots', { 'ca.crt': originRoots });
    await startGateway();
    const request = (name: string) => {
      mkdirSync(temp.file(name));
      return { world, matchLabels: labels, folder: temp.file(name), rootsFrom };
    };
    await startActor('pod', 8090, deliverInPod(request('in-pod')));
    await startActor('agent', 8091, await deliverByAgent(request('by-agent')));
  }, 240_000);
  afterAll(async () => {
    await Promise.all([...ways.values()].map(({ delivery }) => delivery.close()));
    await pod.stop();
    await world.close();
    temp.remove();
  });

  test('a pool that somebody else made is used as it is and never replaced', async () => {
    const before = await applySecret(world, 'other-pool', { pool: newPool() });
    const foreign = await ensurePool(world, 'other-pool');
    expect([pool.isOurs, foreign.isOurs]).toEqual([true, false]);
    await expect(foreign.addCa()).rejects.toThrow(/somebody else's/);
    const { body } = await world.admin.get(secretPath(world, 'other-pool'));
    expect(body?.['metadata'].resourceVersion).toBe(before['metadata'].resourceVersion);
  });

  const bothWays = test.each([['pod'], ['agent']]);

  bothWays('an intercepted host: the bundle verifies it, the roots do not know its issuer (%s)', async (name) => {
    const { actor } = way(name);
    const anchors = await pool.anchors();
    expect(fileOf(way(name))).toBe(textOf(anchors));
    expect(await actor.askUntilTrusted(url('api.example.com'), { roots: 'bundle' })).toMatchObject({
      ...{ kind: 'answered', status: 200, rootsFile: '/mnt/ca.pem' },
      tls: { leaf: { issuer: anchors[0]?.subject } },
    });
    expect(await actor.ask(url('api.example.com'), { roots: 'system' })).toMatchObject(unknownIssuer);
  });

  bothWays('a relayed host: the roots verify it, the bundle does not know its issuer (%s)', async (name) => {
    const { actor } = way(name);
    expect(await actor.ask(url(relayed), { roots: 'system' })).toMatchObject({ kind: 'answered', status: 200 });
    expect(await actor.ask(url(relayed), { roots: 'bundle' })).toMatchObject(unknownIssuer);
  });

  bothWays('a denied host and a wrong port are refusals, with the rule, by either trust (%s)', async (name) => {
    const { actor } = way(name);
    for (const target of [url(denied), 'https://api.example.com:8443/', `https://${relayed}:8443/`])
      for (const roots of ['bundle', 'system'] as const)
        expect(await actor.ask(target, { roots })).toMatchObject(refusedBy('deny:default'));
  });

  bothWays('no server name, and one that is not the host of the tunnel, are refused (%s)', async (name) => {
    const { actor } = way(name);
    const dial = 'api.example.com:443';
    const roots = 'bundle';
    // known to the policy: shown a leaf, and then the word of the gateway
    expect(await actor.ask(url('other.example.com'), { roots, dial })).toMatchObject({
      ...{ kind: 'answered', status: 403 },
      gateway: { error: 'name_mismatch' },
    });
    // not to be intercepted: no leaf at all
    expect(await actor.ask(url(denied), { roots, dial })).toMatchObject({
      ...{ kind: 'failed', code: 'tls-handshake', alert: 'handshake-failure' },
    });
    // an address sends no server name: the leaf is nobody's, and whoever goes on in spite of it is refused
    const nameless = `https://${originAddress}/`;
    expect(await actor.ask(nameless, { roots, dial })).toMatchObject({
      ...{ kind: 'failed', code: 'certificate', openssl: 'ERR_TLS_CERT_ALTNAME_INVALID' },
      presented: { san: ['DNS:no-sni.leafgate.invalid'] },
    });
    const careless = ['--insecure', '--connect-to', `${originAddress}:443:${dial}`, '-w', ' %{http_code}'];
    expect((await actor.run(['curl', '-sS', ...careless, nameless])).stdout).toMatch(/name_mismatch.* 403$/s);
    // where nothing is read there is nobody to say a word
    for (const target of [url('api.example.com'), nameless])
      expect(await actor.ask(target, { roots: 'system', dial: `${relayed}:443` })).toMatchObject({
        ...{ kind: 'failed', code: 'connection-closed', peer: 'server' },
      });
  });

  bothWays('a client that knows nothing but its environment reaches both hosts (%s)', async (name) => {
    for (const host of ['api.example.com', relayed]) {
      const { stdout, stderr } = await way(name).actor.run(['curl', '-sS', '--max-time', '20', url(host)]);
      expect([host, stdout, stderr]).toEqual([host, expect.stringMatching(`^secure ${host}`), '']);
    }
  });

  bothWays('the command that asks by both trusts gives its verdict in one word (%s)', async (name) => {
    const trusts = ['--ca', '/mnt/ca.pem', '--system-roots', temp.file('origin-ca.pem'), '--wait', '30s', '--json'];
    const check = async (host: string): Promise<unknown> => {
      const { stdout } = await way(name).actor.run([
        process.execPath,
        mainScript,
        'probe',
        'check',
        url(host),
        ...trusts,
      ]);
      return (JSON.parse(stdout) as { readonly verdict: string }).verdict;
    };
    expect(await check('api.example.com')).toBe('intercepted');
    expect(await check(relayed)).toBe('relayed');
    expect(await check(denied)).toBe('refused');
  });

  test('a CA that is added while the actors run is in the same file, and then signs: nobody is untrusted on the way', async () => {
    const before = pids();
    const [first] = await pool.anchors();
    const second = await pool.addCa();
    const anchors = await pool.anchors();
    expect(anchors).toHaveLength(2);
    for (const one of ways.values()) {
      await reaches(one, anchors);
      expect(await issuerFor(one, 'api.example.com')).toBe(first?.subject);
    }
    await signsWith(await pool.activateLast());
    for (const one of ways.values()) {
      expect(await issuerFor(one, 'second.example.com')).toBe(second.subject);
      expect(await one.actor.ask(url('second.example.com'), { roots: 'system' })).toMatchObject(unknownIssuer);
      expect(await issuerFor(one, 'api.example.com')).toBe(first?.subject);
      expect(fileOf(one)).toBe(textOf(anchors));
    }
    expect(pids()).toEqual(before);
  });

  test('a CA that is added while the projectors are dead is in the same file when they are back', async () => {
    const known = await pool.anchors();
    await Promise.all([...ways.values()].map(({ delivery }) => delivery.kill()));
    const third = await pool.addCa();
    const anchors = await pool.anchors();
    await waitForBundle(world, (bundle) => certificatesIn(String(bundle['spec'].trustBundle)) === anchors.length);
    for (const one of ways.values()) {
      expect(fileOf(one)).toBe(textOf(known));
      expect(await one.actor.ask(url('second.example.com'), { roots: 'bundle' })).toMatchObject({ kind: 'answered' });
    }
    await Promise.all([...ways.values()].map(({ delivery }) => delivery.start()));
    for (const one of ways.values()) await reaches(one, anchors);
    await signsWith(await pool.activateLast());
    for (const one of ways.values()) expect(await issuerFor(one, 'third.example.com')).toBe(third.subject);
  });

  test('through a gateway that only relays, both halves are the other way round', async () => {
    for (const { actor } of ways.values())
      expect(await actor.ask(url('last.example.com'), { roots: 'system' })).toMatchObject(unknownIssuer);
    await applyGateway(world, 'gw', spec([{ name: 'unread', hosts, verdict: 'relay' }]));
    for (const { actor } of ways.values()) {
      await until('the relay', async () => {
        const { kind } = await actor.ask(url('last.example.com'), { roots: 'system' });
        return kind === 'answered';
      });
      expect(await actor.ask(url('last.example.com'), { roots: 'bundle' })).toMatchObject(unknownIssuer);
    }
  });
});

const unknownIssuer = {
  ...{ kind: 'failed', code: 'certificate' },
  openssl: expect.stringMatching(/^(UNABLE_TO_GET_ISSUER_CERT|UNABLE_TO_VERIFY|SELF_SIGNED)/) as string,
};

function refusedBy(rule: string): object {
  return { kind: 'failed', code: 'refused-by-proxy', status: 403, rule };
}

function certificatesIn(text: string): number {
  return text.split('-----BEGIN CERTIFICATE-----').length - 1;
}

/** as trust files have them */
function textOf(anchors: readonly Certificate[]): string {
  return encodeCertificatesPem(anchors.toSorted((a, b) => (a.sha256 < b.sha256 ? -1 : 1)));
}
