// Serial numbers: 16 random octets, 126 bits of them free, positive and of constant length (RFC 5280 4.1.2.2: positive,
// at most 20 octets). Randomness is an argument.

const serialOctets = 16;

/** First octet 0x40 to 0x7f: never negative (Go refuses those), never zero, never shorter when written as hex. */
export function createSerial(randomBytes: (count: number) => Uint8Array): Uint8Array {
  const serial = Uint8Array.from(randomBytes(serialOctets));
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  return serial;
}

export function isUsableSerial(serial: Uint8Array): boolean {
  const [first] = serial;
  return serial.length === serialOctets && first !== undefined && first > 0 && first < 0x80;
}
