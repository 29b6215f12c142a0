// How clusters speak HTTP to what they lead to: the block that all of them have in common.
import type { JsonObject } from './json.ts';
import { originHttpLimits } from './limits.ts';

const httpOptionsType = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

export function httpOptions(protocol: JsonObject, more: JsonObject = {}): JsonObject {
  const options = {
    '@type': `type.googleapis.com/${httpOptionsType}`,
    common_http_protocol_options: originHttpLimits,
    ...protocol,
    ...more,
  };
  return { typed_extension_protocol_options: { [httpOptionsType]: options } };
}
