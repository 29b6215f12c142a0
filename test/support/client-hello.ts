// ClientHellos as a TLS library makes them, and what a hostile or odd client does to one: more extensions than the library
// knows, several records, any size. RFC 8446 4.1.2 and 5.1 have the layout.
import { Duplex } from 'node:stream';
import { connect, type ConnectionOptions } from 'node:tls';

const recordHeaderBytes = 5;
const handshakeHeaderBytes = 4;
const maxRecordBytes = 2 ** 14;
/** record type handshake, and the version that every first record has */
const handshakeRecord = [0x16, 3, 1] as const;

/** the first flight of Node's TLS, in one record */
export function clientHello(options: ConnectionOptions): Promise<Buffer> {
  return new Promise((resolve) => {
    const socket = new Duplex({
      read: () => undefined,
      write(chunk: Buffer, _encoding, done) {
        resolve(Buffer.from(chunk));
        done();
      },
    });
    connect({ socket, rejectUnauthorized: false, ...options }).on('error', () => undefined);
  });
}

/** the same message in records of at most `bytes` */
export function inRecords(hello: Buffer, bytes: number): Buffer {
  const message = hello.subarray(recordHeaderBytes);
  const pieces = Array.from({ length: Math.ceil(message.length / bytes) }, (_, index) =>
    message.subarray(index * bytes, (index + 1) * bytes),
  );
  return Buffer.concat(pieces.flatMap((piece) => [Buffer.from([...handshakeRecord, ...uint16(piece.length)]), piece]));
}

/** With one more extension. Servers ignore those that they do not know. */
function withExtension(hello: Buffer, type: number, data: Buffer): Buffer {
  const message = hello.subarray(recordHeaderBytes);
  const extension = Buffer.concat([Buffer.from([...uint16(type), ...uint16(data.length)]), data]);
  const whole = Buffer.concat([message, extension]);
  const lengthAt = extensionsAt(message);
  whole.writeUInt16BE(message.readUInt16BE(lengthAt) + extension.length, lengthAt);
  whole.writeUIntBE(whole.length - handshakeHeaderBytes, 1, 3);
  return inRecords(Buffer.concat([hello.subarray(0, recordHeaderBytes), whole]), maxRecordBytes);
}

/** Grown to this many bytes on the wire by an extension that nobody knows; at most one record's worth. */
export function grownTo(hello: Buffer, bytes: number): Buffer {
  const unknownExtension = 0x5555;
  return withExtension(hello, unknownExtension, Buffer.alloc(bytes - hello.length - handshakeHeaderBytes, 1));
}

/** what browsers send for servers without a key for it (RFC 9849 6.2, as Chromium does): outer, HPKE ids, random bytes */
export function withGreaseEch(hello: Buffer): Buffer {
  const encryptedClientHello = 0xfe0d;
  const key = Buffer.alloc(32, 7);
  const payload = Buffer.alloc(144, 9);
  const ids = [0, 0, 1, 0, 1, 0x2a];
  const data = [Buffer.from([...ids, ...uint16(key.length)]), key, Buffer.from(uint16(payload.length)), payload];
  return withExtension(hello, encryptedClientHello, Buffer.concat(data));
}

/** where the length of the extensions stands: after version, random, session id, cipher suites and compression */
function extensionsAt(message: Buffer): number {
  const sessionAt = handshakeHeaderBytes + 2 + 32;
  const ciphersAt = sessionAt + 1 + message.readUInt8(sessionAt);
  const compressionAt = ciphersAt + 2 + message.readUInt16BE(ciphersAt);
  return compressionAt + 1 + message.readUInt8(compressionAt);
}

function uint16(value: number): readonly [number, number] {
  return [value >> 8, value & 0xff];
}
