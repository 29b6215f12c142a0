// The pool of a suite, in a Secret: made where there is none, and changed only by who made it. A pool that somebody else made
// is used as it is: actors that run trust by it.
import { randomBytes } from 'node:crypto';
import { readCertificate } from '../../../src/x509/read-certificate.ts';
import type { Certificate } from '../../../src/x509/certificate-types.ts';
import { newPool, secretPath, type ControllerWorld } from './controller-world.ts';
import { mustSucceed, type ApiObject } from './raw-api.ts';

export type OwnPool = {
  /** the suite made it, and may change it */
  readonly isOurs: boolean;
  anchors(): Promise<readonly Certificate[]>;
  /** step 1 of "another CA takes over": trusted, does not sign; gives its anchor */
  addCa(): Promise<Certificate>;
  /** step 2: the CA that was added last signs; gives its ID */
  activateLast(): Promise<string>;
};

type PoolCa = { readonly ID: string; readonly RootCertificateDER: string };
type PoolDocument = { readonly CAs: readonly PoolCa[]; readonly ActiveForSigning: string };

/** on the Secret, so that it is known whose it is */
const makerLabel = 'made-by';

export async function ensurePool(world: ControllerWorld, name = 'pool'): Promise<OwnPool> {
  const { admin, namespace } = world;
  const path = secretPath(world, name);
  const maker = `suite-${randomBytes(8).toString('hex')}`;
  const metadata = { name, namespace, labels: { [makerLabel]: maker } };
  const data = { pool: Buffer.from(newPool()).toString('base64') };
  const secret = { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata, data };
  const answer = await admin.post(path.slice(0, path.lastIndexOf('/')), secret);
  // to make one and to look whether there is one is the same request
  if (answer.status !== 409) mustSucceed(answer);
  const read = async (): Promise<ApiObject> => mustSucceed(await admin.get(path));
  const isMadeHere = (object: ApiObject): boolean => object['metadata'].labels?.[makerLabel] === maker;
  const change = async (next: (pool: PoolDocument) => PoolDocument): Promise<void> => {
    const object = await read();
    if (!isMadeHere(object)) throw new Error(`the pool ${namespace}/${name} is somebody else's: it is not changed`);
    const pool = Buffer.from(JSON.stringify(next(documentOf(object)))).toString('base64');
    // with the version that was read: what another has written meanwhile is a conflict
    mustSucceed(await admin.put(path, { ...object, data: { ...object['data'], pool } }));
  };
  return {
    isOurs: isMadeHere(await read()),
    anchors: async () => documentOf(await read()).CAs.map(anchorOf),
    addCa: async () => {
      const [ca] = (JSON.parse(Buffer.from(newPool()).toString()) as PoolDocument).CAs;
      if (ca === undefined) throw new Error('a new pool has no CA');
      await change((pool) => ({ ...pool, CAs: [...pool.CAs, ca] }));
      return anchorOf(ca);
    },
    activateLast: async () => {
      const id = documentOf(await read()).CAs.at(-1)?.ID ?? '';
      await change((pool) => ({ ...pool, ActiveForSigning: id }));
      return id;
    },
  };
}

function documentOf(secret: ApiObject): PoolDocument {
  return JSON.parse(Buffer.from(secret['data'].pool as string, 'base64').toString()) as PoolDocument;
}

function anchorOf({ RootCertificateDER }: PoolCa): Certificate {
  return readCertificate(Buffer.from(RootCertificateDER, 'base64'));
}
