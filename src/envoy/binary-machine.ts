// What kind of machine a program is made for, from its first bytes: a wrong one only says "exec format error". Must not
// know whose program it is.
import { open } from 'node:fs/promises';

/** e_machine of an ELF header (elf.h), in Node's words for processors */
const elfMachines: Readonly<Record<number, string>> = {
  3: 'ia32',
  8: 'mips',
  21: 'ppc64',
  22: 's390x',
  40: 'arm',
  62: 'x64',
  183: 'arm64',
  243: 'riscv64',
  258: 'loong64',
};

/** magic numbers of Mach-O, thin and fat, in both byte orders */
const machO: ReadonlySet<string> = new Set(['feedface', 'feedfacf', 'cefaedfe', 'cffaedfe', 'cafebabe']);

const headerBytes = 20;

/** `x64`, `arm64` and the like; undefined for what is no program of a kind that is known, such as a script. */
export function machineOfProgram(header: Uint8Array): string | undefined {
  const bytes = Buffer.from(header);
  if (bytes.length < headerBytes) return undefined;
  if (machO.has(bytes.toString('hex', 0, 4))) return 'macOS';
  if (bytes.toString('latin1', 0, 2) === 'MZ') return 'Windows';
  if (bytes.toString('hex', 0, 4) !== '7f454c46') return undefined;
  const isBigEndian = bytes[5] === 2;
  const machine = isBigEndian ? bytes.readUInt16BE(18) : bytes.readUInt16LE(18);
  return elfMachines[machine] ?? `another processor (ELF machine ${machine})`;
}

/** Never rejects. */
export async function readProgramMachine(path: string): Promise<string | undefined> {
  try {
    const file = await open(path);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(headerBytes), 0, headerBytes, 0);
      return machineOfProgram(buffer.subarray(0, bytesRead));
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}
