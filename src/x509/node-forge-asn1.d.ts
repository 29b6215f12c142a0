// The one part of node-forge that is loaded. Its types describe the whole library only; loading that costs 6 MB and
// 80 ms more (measured on Node 24).
declare module 'node-forge/lib/asn1.js' {
  import { asn1 } from 'node-forge';

  export = asn1;
}
