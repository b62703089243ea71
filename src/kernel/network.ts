import { lookup } from "node:dns/promises"

/** The machine's network: how hosts are found and requests are sent. */
export type Network = {
  /** The addresses of a host; none where nobody knows it. */
  readonly resolve: (host: string) => Promise<readonly string[]>
  readonly send: typeof fetch
}

export const systemNetwork: Network = {
  resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  send: fetch,
}
