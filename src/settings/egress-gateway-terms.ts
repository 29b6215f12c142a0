// The parts `spec.listener`, `spec.destinations` and `spec.limits` of an EgressGateway: what flags say on a laptop, with the
// same ranges and, but for who may connect and the end of a pod, the same defaults. Pure.
import { parseCidr } from '../names/cidr.ts';
import { parseIpAddress } from '../names/ip-address.ts';
import type { Cidr } from '../names/name-types.ts';
import { parseHostName } from '../names/parse-host-name.ts';
import { clientRateOf } from './client-rate.ts';
import {
  allowFromByDefault,
  drainByDefault,
  egressGatewayLimits,
  listenPortByDefault,
} from './egress-gateway-limits.ts';
import type { EgressGatewayTerms } from './egress-gateway-types.ts';
import type { Field, FieldMap, FieldReader } from './field-reader.ts';
import type { ListenAddress, ResolveOverride } from './gateway-spec.ts';
import { parseDnsServer } from './parse-listen.ts';
import { meantRange } from './policy-targets.ts';
import { quantitySettings } from './quantity-settings.ts';

const portRange = { least: 1, most: 65_535 };

/** `part` gives a field of the spec by its name */
export function readTerms(part: FieldMap, reader: FieldReader): EgressGatewayTerms | undefined {
  const listener = reader.map(part('listener'), ['port', 'tlsPort', 'allowFrom']);
  const destinations = reader.map(part('destinations'), ['allow', 'dnsServers', 'resolve']);
  const limits = reader.map(part('limits'), ['maxConnections', 'maxMemory', 'clientRate', 'drain']);
  if (listener === undefined || destinations === undefined || limits === undefined) return undefined;
  const listenPort = reader.integer(listener('port'), portRange) ?? listenPortByDefault;
  const listenTlsPort = reader.integer(listener('tlsPort'), portRange);
  if (listenPort === listenTlsPort) {
    reader.clash(listener('tlsPort'), 'is the port of clear connections too', 'take another one, or leave it out');
  }
  const { maxConnections, maxMemory, clientRate, drain } = quantitySettings;
  return {
    listenPort,
    listenTlsPort,
    allowFrom: readAllowFrom(listener('allowFrom'), reader),
    resolve: readResolve(destinations('resolve'), reader),
    allowDestinations: readRanges(destinations('allow'), reader),
    dnsServers: readDnsServers(destinations('dnsServers'), reader),
    maxConnections: reader.integer(limits('maxConnections'), maxConnections) ?? maxConnections.default,
    maxMemoryBytes: reader.bytes(limits('maxMemory'), maxMemory) ?? maxMemory.default,
    clientRate: clientRateOf(reader.integer(limits('clientRate'), clientRate) ?? clientRate.default),
    drainMs: reader.duration(limits('drain'), drain) ?? drainByDefault,
  };
}

function readAllowFrom(field: Field, reader: FieldReader): readonly Cidr[] {
  if (field.value === undefined) return allowFromByDefault.flatMap((text) => parseCidr(text) ?? []);
  if (Array.isArray(field.value) && field.value.length === 0) {
    reader.missing(field, 'list the ranges of those who may connect, or leave it out for private addresses');
  }
  return readRanges(field, reader);
}

function readRanges(field: Field, reader: FieldReader): readonly Cidr[] {
  return reader.items(field, { most: egressGatewayLimits.ranges, example: '10.0.0.0/8' }).flatMap((item) => {
    const meant = typeof item.value === 'string' ? meantRange(item.value) : undefined;
    return reader.parsed(item, { expected: 'a range of addresses', example: meant ?? '10.0.0.0/8' }, parseCidr) ?? [];
  });
}

function readDnsServers(field: Field, reader: FieldReader): readonly ListenAddress[] {
  const meant = { expected: 'a DNS server by address', example: '192.0.2.53 or "[2001:db8::53]:5353"' };
  return reader
    .items(field, { most: egressGatewayLimits.dnsServers, example: '192.0.2.53' })
    .flatMap((item) => reader.parsed(item, meant, dnsServer) ?? []);
}

function dnsServer(text: string): ListenAddress | undefined {
  try {
    return parseDnsServer(text);
  } catch {
    return undefined;
  }
}

function readResolve(field: Field, reader: FieldReader): readonly ResolveOverride[] {
  const example = '{host: api.example.com, port: 443, address: 192.0.2.1}';
  return reader.items(field, { most: egressGatewayLimits.resolve, example }).flatMap((item) => {
    const entry = reader.map(item, ['host', 'port', 'address']);
    if (entry === undefined) return [];
    for (const key of ['host', 'port', 'address']) {
      if (entry(key).value === undefined) reader.missing(entry(key), `write it like ${example}`);
    }
    const hostMeant = { expected: 'a host name, or * for any', example: 'api.example.com or "*"' };
    const host = reader.parsed(entry('host'), hostMeant, (text) => (text === '*' ? text : parseHostName(text)));
    const port = reader.integer(entry('port'), portRange);
    const addressMeant = { expected: 'an IP address', example: '192.0.2.1' };
    const address = reader.parsed(entry('address'), addressMeant, parseIpAddress);
    return host === undefined || port === undefined || address === undefined ? [] : [{ host, port, address }];
  });
}
