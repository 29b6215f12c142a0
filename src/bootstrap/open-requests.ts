// How many tunnels and requests a proxy has open at once: fewer than the connections that it takes, so that whoever comes above
// has a connection on which it can be told so. Envoy's connection limit closes without a byte, and triggers no action of the
// overload manager (pressure 0 however many are open, measured). Its adaptive concurrency filter with one number as lowest and
// highest limit counts exactly, over all workers, tunnels included, and never adapts.
import { extension, type JsonObject } from './json.ts';

/** what stays for those who are refused; a tunnel over HTTP/2 counts too, although a hundred share a connection */
const shareOfConnections = 0.95;

/** the self-check has as many, one with each trust */
const least = 2;

function maxOpenRequests(maxConnections: number): number {
  return Math.max(least, Math.floor(maxConnections * shareOfConnections));
}

/** the answer's details, when a request is one too many */
export const openRequestsDetails = 'reached_concurrency_limit';

/** of one leg; after the client's objects, so that the refusal and its record know whose it is */
export function openRequestsFilter(maxConnections: number): JsonObject {
  const limit = maxOpenRequests(maxConnections);
  const type = 'envoy.extensions.filters.http.adaptive_concurrency.v3.AdaptiveConcurrency';
  return extension('open-requests', type, {
    gradient_controller_config: {
      concurrency_limit_params: { max_concurrency_limit: limit, concurrency_update_interval: hour },
      // a fixed value: nothing is measured, so that nothing is held back for measuring
      min_rtt_calc_params: { fixed_value: '1s', min_concurrency: limit },
    },
  });
}

/** how often the limit would be computed anew, which gives the same one */
const hour = '3600s';
