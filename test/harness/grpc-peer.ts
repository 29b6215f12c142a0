// Peers that speak gRPC over a real socket: one through grpc-js, as Envoy would, and one of bare HTTP/2 frames, for
// what a library would not do.
import { connect as connectHttp2, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { createConnection } from 'node:net';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import type { ClientDuplexStream, StatusObject } from '@grpc/grpc-js';
import { withDeadline } from '../support/wait-for.ts';
import { decodeXdsResponse, encodeXdsRequest } from './xds-messages.ts';
import type { XdsRequest, XdsResponse } from './xds-messages.ts';

export const adsMethod = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';
export const perNameMethod = '/envoy.service.secret.v3.SecretDiscoveryService/DeltaSecrets';

const asIs = (bytes: Buffer): Buffer => bytes;

export type GrpcPeer = {
  readonly client: Client;
  /** opens a stream of the method */
  open(method?: string): GrpcStream;
  /** opens a delta ADS stream that sends these bytes and shows each answer, unread; what comes back is sent on */
  openRaw(raw: { readonly request: Buffer; readonly answered: (message: Buffer) => Buffer | undefined }): void;
  close(): void;
};

type GrpcStream = {
  send(request: XdsRequest): void;
  sendBytes(bytes: Buffer): void;
  next(): Promise<XdsResponse>;
  /** no more requests */
  half(): void;
  cancel(): void;
  /** how the server ended it */
  readonly status: Promise<StatusObject>;
};

export function connectGrpc(socketPath: string): GrpcPeer {
  return peerOf(new Client(`unix:${socketPath}`, credentials.createInsecure(), clientOptions));
}

export type GrpcTlsTarget = {
  readonly port: number;
  /** what is sent as SNI and looked for in the certificate */
  readonly serverName: string;
  /** PEM */
  readonly ca: string;
  readonly certificatePem: string;
  readonly keyPem: string;
};

/** The same through TCP with mutual TLS. */
export function connectGrpcTls({ port, serverName, ca, certificatePem, keyPem }: GrpcTlsTarget): GrpcPeer {
  const [roots, key, certificate] = [ca, keyPem, certificatePem].map((pem) => Buffer.from(pem));
  const shown = credentials.createSsl(roots, key, certificate);
  const name = { 'grpc.ssl_target_name_override': serverName, 'grpc.default_authority': serverName };
  return peerOf(new Client(`127.0.0.1:${port}`, shown, { ...clientOptions, ...name }));
}

const clientOptions = { 'grpc.max_send_message_length': -1, 'grpc.enable_channelz': 0 };

function peerOf(client: Client): GrpcPeer {
  return {
    client,
    open: (method = adsMethod) => streamOf(client.makeBidiStreamRequest(method, asIs, asIs, new Metadata())),
    openRaw: ({ request, answered }) => {
      const call = client.makeBidiStreamRequest(adsMethod, asIs, asIs, new Metadata());
      call.on('data', (message: Buffer) => {
        const reply = answered(message);
        if (reply !== undefined) call.write(reply);
      });
      call.on('error', () => undefined);
      call.write(request);
    },
    close: () => client.close(),
  };
}

function streamOf(call: ClientDuplexStream<Buffer, Buffer>): GrpcStream {
  const inbox: XdsResponse[] = [];
  const waiting: ((response: XdsResponse) => void)[] = [];
  call.on('data', (message: Buffer) => {
    const response = decodeXdsResponse(message);
    const taker = waiting.shift();
    if (taker === undefined) inbox.push(response);
    else taker(response);
  });
  const status = new Promise<StatusObject>((resolve) => call.on('status', resolve));
  call.on('error', () => undefined);
  const next = (): Promise<XdsResponse> => {
    const ready = inbox.shift();
    return ready === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(ready);
  };
  return {
    send: (request) => void call.write(encodeXdsRequest(request)),
    sendBytes: (bytes) => void call.write(bytes),
    next: () => withDeadline('a response', next()),
    half: () => call.end(),
    cancel: () => call.cancel(),
    get status() {
      return withDeadline('the end of a stream', status);
    },
  };
}

/** A session of bare HTTP/2. */
export async function connectFrames(socketPath: string): Promise<ClientHttp2Session> {
  const session = connectHttp2('http://localhost', { createConnection: () => createConnection(socketPath) });
  session.on('error', () => undefined);
  await withDeadline('settings', new Promise((resolve) => session.once('remoteSettings', resolve)));
  return session;
}

/** A gRPC stream of frames that sends this request and is read only when the test reads it. */
export function openFrames(session: ClientHttp2Session, method: string, request: XdsRequest): ClientHttp2Stream {
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: 'POST',
    [constants.HTTP2_HEADER_PATH]: method,
    [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', () => undefined);
  stream.write(framed(encodeXdsRequest(request)));
  return stream;
}

/** the length-prefixed message of gRPC over HTTP/2 */
export function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
