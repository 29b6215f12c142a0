// TLS to origins, as every cluster and every credential speaks it.
import { extension, type JsonObject } from './json.ts';

/** TLS 1.3 has to be allowed; no session is kept, so that one origin's session cannot serve another name. */
export function upstreamTls(fields: JsonObject, common: JsonObject): JsonObject {
  return extension('envoy.transport_sockets.tls', 'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext', {
    max_session_keys: 0,
    ...fields,
    common_tls_context: { tls_params: { tls_maximum_protocol_version: 'TLSv1_3' }, ...common },
  });
}
