/** The machine's network: name resolution and HTTP. */
export type Network = {
  /** The addresses of a host; empty if it is unknown. */
  readonly resolve: (host: string) => Promise<readonly string[]>
  /**
   * The TXT records of a name (RFC 1035 §3.3.14); empty if there are none. The runtime returns the
   * strings of a record as if they were records: a text longer than 255 bytes is split.
   */
  readonly txtRecords: (name: string) => Promise<readonly string[]>
  readonly send: typeof fetch
}

/** Loaded with the first lookup: a start does not need it. */
const loadDns = () => import("node:dns/promises")

export const systemNetwork: Network = {
  resolve: async (host) => {
    const { lookup } = await loadDns()
    return (await lookup(host, { all: true })).map(({ address }) => address)
  },
  txtRecords: async (name) => {
    const { Resolver } = await loadDns()
    const resolver = new Resolver({ timeout: 2500, tries: 2 })
    const records = await resolver.resolveTxt(name).catch(emptyIfUnknown)
    return records.map((parts) => parts.join(""))
  },
  send: fetch,
}

function emptyIfUnknown(cause: unknown): string[][] {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined
  if (code === "ENOTFOUND" || code === "ENODATA") return []
  throw cause
}
