// The shipped definition of EgressGateway, and the admission policy beside it, in a control plane of a test.
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { waitFor } from '../wait-for.ts';
import { mustSucceed, type ApiObject, type RawApi } from './raw-api.ts';

const folder = new URL('../../../deploy/controller/', import.meta.url);
const definitionFile = new URL('egressgateways.leafgate.dev.yaml', folder);
const policyFile = new URL('egressgateway-attest-policy.yaml', folder);

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const admission = '/apis/admissionregistration.k8s.io/v1';

export function gatewaysIn(namespace: string): string {
  return `/apis/leafgate.dev/v1alpha1/namespaces/${namespace}/egressgateways`;
}

/** By server-side apply with strict validation; back when objects can be made. */
export async function installDefinition(admin: RawApi): Promise<void> {
  const [definition] = documentsOf(definitionFile);
  await applyStrictly(admin, `${definitions}/egressgateways.leafgate.dev`, definition);
  const list = async (): Promise<boolean> => (await admin.get(gatewaysIn('default'))).status === 200;
  await waitFor('EgressGateways to be served', list);
}

/** Back when the policy decides, which takes the API server a moment. */
export async function installAttestPolicy(admin: RawApi, isEnforced: () => Promise<boolean>): Promise<void> {
  for (const document of documentsOf(policyFile)) {
    const plural = document['kind'] === 'ValidatingAdmissionPolicy' ? 'policies' : 'policybindings';
    await applyStrictly(
      admin,
      `${admission}/validatingadmission${plural}/${String(document['metadata'].name)}`,
      document,
    );
  }
  await waitFor('the admission policy to be enforced', isEnforced, 30_000);
}

function documentsOf(file: URL): readonly ApiObject[] {
  return parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as ApiObject);
}

async function applyStrictly(admin: RawApi, path: string, object: ApiObject | undefined): Promise<void> {
  mustSucceed(await admin.apply(path, object ?? {}, { query: 'fieldValidation=Strict' }));
}
