// Plain JSON values, and the one shape that Envoy repeats everywhere: a named extension with a typed configuration.

type Json = string | number | boolean | readonly Json[] | JsonObject;
export type JsonObject = { readonly [field: string]: Json };

/** `type` is the proto's full name */
export function typed(type: string, fields: JsonObject = {}): JsonObject {
  return { '@type': `type.googleapis.com/${type}`, ...fields };
}

export function extension(name: string, type: string, fields: JsonObject = {}): JsonObject {
  return { name, typed_config: typed(type, fields) };
}
