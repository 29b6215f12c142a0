// The parts of undici that are loaded, which it describes as a whole only: its connections and one way to ask over them, not
// its fetch, caches and web sockets. Loading all costs 3 MB of the controller, and 11 of a process that has nothing else
// (measured on Node 24.22).
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici';

  export = Pool;
}

declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici';

  export = Client;
}

/** what `Dispatcher.prototype.request` is once the whole is loaded */
declare module 'undici/lib/api/api-request.js' {
  import type { Dispatcher } from 'undici';

  function request(
    this: Dispatcher,
    options: Dispatcher.RequestOptions<unknown>,
  ): Promise<Dispatcher.ResponseData<unknown>>;
  export = request;
}
