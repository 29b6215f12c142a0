// A gRPC service and its client through a CONNECT of the gateway's. Messages are plain texts, so that no schema stands
// between a test and the wire.
import * as grpc from '@grpc/grpc-js';
import type { ServerCertificate } from './test-certificates.ts';
import { withDeadline } from './wait-for.ts';

const text = { serialize: (value: string) => Buffer.from(value), deserialize: (bytes: Buffer) => bytes.toString() };
const method = (path: string, isStream: boolean) => ({
  ...{ path, requestStream: isStream, responseStream: isStream },
  ...{ requestSerialize: text.serialize, requestDeserialize: text.deserialize },
  ...{ responseSerialize: text.serialize, responseDeserialize: text.deserialize },
});
const service = { unary: method('/leafgate.Test/Unary', false), bidi: method('/leafgate.Test/Bidi', true) };

export type GrpcOrigin = {
  readonly port: number;
  /** resolves when the next stream is cancelled by its client */
  nextCancelled(): Promise<void>;
  stop(): void;
};

/** in clear without a certificate */
export async function startGrpcOrigin(certificate?: ServerCertificate): Promise<GrpcOrigin> {
  const server = new grpc.Server();
  let cancelled = (): void => undefined;
  server.addService(service, {
    unary: (call: grpc.ServerUnaryCall<string, string>, done: grpc.sendUnaryData<string>) => {
      if (call.request === 'fail') {
        done({ code: grpc.status.FAILED_PRECONDITION, details: 'as asked for' });
        return;
      }
      const initial = new grpc.Metadata();
      initial.set('x-saw', String(call.metadata.get('x-asked')[0] ?? ''));
      call.sendMetadata(initial);
      const trailing = new grpc.Metadata();
      trailing.set('x-after', 'all');
      done(null, `echo ${call.request}`, trailing);
    },
    bidi: (call: grpc.ServerDuplexStream<string, string>) => {
      call.on('data', (message: string) => call.write(`echo ${message}`));
      call.on('end', () => call.end());
      call.on('cancelled', () => cancelled());
    },
  });
  const pair = certificate && {
    cert_chain: Buffer.from(certificate.chainPem),
    private_key: Buffer.from(certificate.keyPem),
  };
  const credentials =
    pair === undefined ? grpc.ServerCredentials.createInsecure() : grpc.ServerCredentials.createSsl(null, [pair]);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) => (error === null ? resolve(bound) : reject(error)));
  });
  return {
    port,
    nextCancelled: () =>
      withDeadline('the origin to see the end', new Promise<void>((resolve) => (cancelled = resolve))),
    stop: () => server.forceShutdown(),
  };
}

type UnaryAnswer = {
  readonly message: string;
  readonly initial: { readonly [key: string]: unknown };
  readonly trailing: { readonly [key: string]: unknown };
};

export type GrpcClient = {
  unary(message: string, metadata?: grpc.Metadata): Promise<UnaryAnswer>;
  bidi(): grpc.ClientDuplexStream<string, string>;
  close(): void;
};

export type GrpcTarget = {
  readonly proxyPort: number;
  readonly host: string;
  readonly port: number;
  /** in clear without one */
  readonly ca: string | undefined;
};

/** grpc-js opens the CONNECT itself, as it does when `grpc_proxy` is set */
export function connectGrpc({ proxyPort, host, port, ca }: GrpcTarget): GrpcClient {
  const Client = grpc.makeClientConstructor(service, 'Test');
  const credentials =
    ca === undefined ? grpc.credentials.createInsecure() : grpc.credentials.createSsl(Buffer.from(ca));
  const authority = `${host}:${port}`;
  const client = new Client(`127.0.0.1:${proxyPort}`, credentials, {
    'grpc.http_connect_target': `dns:${authority}`,
    'grpc.default_authority': authority,
    'grpc.ssl_target_name_override': host,
  });
  const deadline = (): grpc.CallOptions => ({ deadline: Date.now() + 10_000 });
  return {
    unary: async (message, metadata = new grpc.Metadata()) => {
      let initial = {};
      let trailing = {};
      const answer = new Promise<string>((resolve, reject) => {
        const { path, requestSerialize, responseDeserialize } = service.unary;
        const call = client.makeUnaryRequest(
          ...([path, requestSerialize, responseDeserialize, message, metadata, deadline()] as const),
          (error, value) => (error === null ? resolve(value ?? '') : reject(error)),
        );
        call.on('metadata', (got) => (initial = got.getMap()));
        call.on('status', ({ metadata: last }) => (trailing = last.getMap()));
      });
      return { message: await answer, initial, trailing };
    },
    bidi: () => {
      const { path, requestSerialize, responseDeserialize } = service.bidi;
      return client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, deadline());
    },
    close: () => client.close(),
  };
}
