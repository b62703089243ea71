/** The name in a host such as "id.example.com:8443", in its one form; see `plainHost`. */
export const hostName = (host: string): string => splitHost(host).name

/**
 * A host in its one form: lower case, without the final dot of its name (RFC 3986 §3.2.2) and
 * without the port that its scheme has anyway (RFC 9110 §4.2.3). `protocol` is that of a URL.
 */
export function plainHost(host: string, protocol: string): string {
  const { name, port } = splitHost(host)
  return port === undefined || port === usualPort(protocol) ? name : `${name}:${port}`
}

/** Name and port of a host; no port where none is written. */
export function splitHost(host: string): { readonly name: string; readonly port?: string } {
  const [, name = "", port] = /^(.*?)\.?(?::(\d+))?$/.exec(host.toLowerCase()) ?? []
  return { name, ...(port !== undefined && { port }) }
}

/** The port of a URL that names none. */
export const usualPort = (protocol: string): string => (protocol === "https:" ? "443" : "80")

/** Whether two URLs of the web have the same origin, however it is written. */
export function isSameOrigin(left: string, right: string): boolean {
  const origin = plainOrigin(left)
  return origin !== undefined && origin === plainOrigin(right)
}

/** The origin of a URL, in its one form; undefined for what is no URL of the web. */
export function plainOrigin(text: string): string | undefined {
  const url = URL.parse(text)
  if (url?.protocol !== "https:" && url?.protocol !== "http:") return undefined
  return `${url.protocol}//${plainHost(url.host, url.protocol)}`
}
