/** The machine's network: how hosts are found and requests are sent. */
export type Network = {
  /** The addresses of a host; none where nobody knows it. */
  readonly resolve: (host: string) => Promise<readonly string[]>
  /**
   * The TXT records of a name (RFC 1035 §3.3.14); none where there is none. The runtime tells the
   * strings of a record apart as if they were records: a text beyond 255 bytes comes in pieces.
   */
  readonly texts: (name: string) => Promise<readonly string[]>
  readonly send: typeof fetch
}

/** Loaded with the first name that is looked up: start-up does without it. */
const dns = () => import("node:dns/promises")

export const systemNetwork: Network = {
  resolve: async (host) => {
    const { lookup } = await dns()
    return (await lookup(host, { all: true })).map(({ address }) => address)
  },
  texts: async (name) => {
    const { Resolver } = await dns()
    const resolver = new Resolver({ timeout: 2500, tries: 2 })
    const records = await resolver.resolveTxt(name).catch(noneWhereUnknown)
    return records.map((parts) => parts.join(""))
  },
  send: fetch,
}

function noneWhereUnknown(cause: unknown): string[][] {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined
  if (code === "ENOTFOUND" || code === "ENODATA") return []
  throw cause
}
