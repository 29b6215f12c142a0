// What the controller says of one EgressGateway, as the API server has it.
import type { Manifest } from '../manifest-types.ts';
import { waitFor } from '../wait-for.ts';
import { apiPath } from './apply-manifests.ts';
import { mustSucceed, type ApiObject, type RawApi } from './raw-api.ts';

export type SeenGateway = {
  condition(type: string): Promise<ApiObject | undefined>;
  /** the condition, once its message is like this */
  untilSaid(type: string, message: RegExp): Promise<ApiObject>;
  /** for what is applied now, not for an earlier spec */
  untilReady(): Promise<void>;
  remove(): Promise<void>;
};

const deadlineMs = 30_000;

export function seenGateway(admin: RawApi, manifest: Manifest): SeenGateway {
  const path = apiPath(manifest);
  const read = async (): Promise<ApiObject> => mustSucceed(await admin.get(path));
  const condition = async (type: string): Promise<ApiObject | undefined> => conditionIn(await read(), type);
  return {
    condition,
    untilSaid: (type, message) => {
      const said = async (): Promise<ApiObject | undefined> => {
        const found = await condition(type);
        return message.test(String(found?.['message'])) ? found : undefined;
      };
      return waitFor(`${type} to be said`, said, deadlineMs);
    },
    untilReady: async () => {
      const isReady = async (): Promise<boolean> => {
        const gateway = await read();
        const ready = conditionIn(gateway, 'Ready');
        return ready?.['status'] === 'True' && ready['observedGeneration'] === gateway['metadata'].generation;
      };
      await waitFor('the gateway to be ready', isReady, deadlineMs);
    },
    remove: async () => {
      mustSucceed(await admin.remove(path));
      await waitFor(`${path} to be gone`, async () => (await admin.get(path)).status === 404, deadlineMs);
    },
  };
}

function conditionIn({ status }: ApiObject, type: string): ApiObject | undefined {
  return (status?.conditions as readonly ApiObject[] | undefined)?.find((one) => one['type'] === type);
}
