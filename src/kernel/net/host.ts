/** The normalized name in a host such as "id.example.com:8443"; see `plainHost`. */
export const hostName = (host: string): string => splitHost(host).name

/**
 * Normalizes a host: lower case, without the trailing dot of its name (RFC 3986 §3.2.2) and without
 * the default port of its scheme (RFC 9110 §4.2.3). `protocol` is that of a URL.
 */
export function normalizeHost(host: string, protocol: string): string {
  const { name, port } = splitHost(host)
  return port === undefined || port === defaultPort(protocol) ? name : `${name}:${port}`
}

/** Splits a host into name and port; the port is absent if it is not given. */
export function splitHost(host: string): { readonly name: string; readonly port?: string } {
  const [, name = "", port] = /^(.*?)\.?(?::(\d+))?$/.exec(host.toLowerCase()) ?? []
  return { name, ...(port !== undefined && { port }) }
}

/** The default port of a URL scheme. */
export const defaultPort = (protocol: string): string => (protocol === "https:" ? "443" : "80")

/** Whether two http or https URLs have the same origin after normalization. */
export function isSameOrigin(left: string, right: string): boolean {
  const origin = normalizeOrigin(left)
  return origin !== undefined && origin === normalizeOrigin(right)
}

/** The normalized origin of a URL; undefined for anything but http and https URLs. */
export function normalizeOrigin(text: string): string | undefined {
  const url = URL.parse(text)
  if (url?.protocol !== "https:" && url?.protocol !== "http:") return undefined
  return `${url.protocol}//${normalizeHost(url.host, url.protocol)}`
}
