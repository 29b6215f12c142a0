// A pool in a Kubernetes Secret, as `leafgate pool … --secret NS/NAME` makes and reads it. Made in one request, so that it
// is there whole or not at all, and never over another: what clients trust is not replaced by a slip of the hand.
import { secrets } from '../controller/watched-kinds.ts';
import type { SecretBytes } from '../secret-bytes.ts';
import { isRecord } from '../is-record.ts';
import { createKubeClient } from '../kube/create-kube-client.ts';
import { findClusterAccess } from '../kube/find-cluster-access.ts';
import { kubeFailureOf } from '../kube/kube-failure.ts';
import type { KubeClient, KubeObject, ObjectPlace } from '../kube/kube-types.ts';
import { maxPoolBytes, poolSecretKey } from '../pool/pool-document.ts';
import { poolErrors } from '../pool/pool-errors.ts';
import type { Pool } from '../pool/pool-types.ts';
import { namespaceRule, objectNameRule } from '../settings/kubernetes-names.ts';
import { encodeCertificatesPem } from '../x509/pem.ts';
import { cliErrors } from './cli-errors.ts';
import type { CommandContext } from './command-context.ts';

export type SecretChoice = { readonly secret: string; readonly kubeconfig?: string };

/** Throws `pool-secret-exists` and the errors of the API. */
export async function writePoolSecret(
  choice: SecretChoice,
  { bytes, pool }: { readonly bytes: SecretBytes; readonly pool: Pool },
  context: CommandContext,
): Promise<void> {
  await withSecret(choice, context, async (client, place) => {
    try {
      await client.create(place, secretOf(place, bytes, pool), { fieldManager: 'leafgate-pool' });
    } catch (thrown) {
      if (kubeFailureOf(thrown).kind !== 'already-exists') throw thrown;
      throw poolErrors.error('pool-secret-exists', { secret: choice.secret });
    }
  });
}

/** The bytes of its key `pool`. Throws `pool-secret-missing`, `pool-secret-key` and the errors of the API. */
export async function readPoolSecret(choice: SecretChoice, context: CommandContext): Promise<Uint8Array> {
  const { secret } = choice;
  return withSecret(choice, context, async (client, place) => {
    const object = await client.get(place);
    if (object === undefined) throw poolErrors.error('pool-secret-missing', { secret });
    const data = isRecord(object['data']) ? object['data'] : {};
    const text = data[poolSecretKey];
    if (typeof text !== 'string' || text === '') throw poolErrors.error('pool-secret-key', { secret });
    const bytes = Buffer.from(text, 'base64');
    if (bytes.length > maxPoolBytes)
      throw poolErrors.error('pool-too-large', { source: secret, maxBytes: maxPoolBytes });
    return bytes;
  });
}

function secretOf({ namespace, name }: ObjectPlace, bytes: SecretBytes, { active }: Pool): KubeObject {
  const chain = active.intermediates.length === 0 ? [active.anchor] : active.intermediates;
  const key = active.signingKey.export({ format: 'pem', type: 'pkcs8' });
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    type: 'kubernetes.io/tls',
    data: {
      [poolSecretKey]: base64(bytes.reveal()),
      'tls.crt': base64(encodeCertificatesPem(chain)),
      'tls.key': base64(key),
    },
  };
}

async function withSecret<T>(
  { secret, kubeconfig }: SecretChoice,
  context: CommandContext,
  run: (client: KubeClient, place: ObjectPlace) => Promise<T>,
): Promise<T> {
  const place = placeOf(secret);
  const { clock, env } = context.io;
  const log = context.createLog(false);
  const named = kubeconfig === undefined ? {} : { kubeconfigFile: kubeconfig };
  const access = await findClusterAccess({ env, clock, log, ...named });
  const client = createKubeClient({ access, clock });
  try {
    return await run(client, place);
  } finally {
    await client.close();
  }
}

function placeOf(secret: string): ObjectPlace {
  const [namespace = '', name = '', ...more] = secret.split('/');
  if (more.length > 0 || !namespaceRule.isRight(namespace) || !objectNameRule.isRight(name))
    throw cliErrors.error('secret-name-invalid', { secret });
  return { resource: secrets, namespace, name };
}

function base64(bytes: string | Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
