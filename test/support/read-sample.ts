// One sample of a server's metrics, over the unix socket that it serves them on.
import { createAdminClient } from '../../src/envoy/admin-client.ts';

/** 0 where there is no such sample; `sample` with its labels, as it is written */
export async function readSample(socket: string, sample: string): Promise<number> {
  const { body } = await createAdminClient(socket).get('/metrics');
  const line = body.split('\n').find((one) => one.startsWith(`${sample} `));
  return Number(line?.slice(sample.length + 1) ?? 0);
}
