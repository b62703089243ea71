/** A proxy that gives each request to the next of several servers, as a balancer would. */
export type RoundRobin = {
  readonly port: number
  /** Gives requests to these from now on. */
  readonly lead: (ports: readonly number[]) => void
  readonly stop: () => Promise<void>
}

/**
 * Whoever does not listen is passed over; a request that broke off, or has no answer after
 * `patienceMs`, is told as 502, once.
 */
export function roundRobin(port: number, { patienceMs = 60_000 } = {}): RoundRobin {
  let ports: readonly number[] = []
  let turn = 0
  const forward = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url)
    const body = await request.arrayBuffer()
    const first = turn++
    for (const each of ports.keys()) {
      const next = ports[(first + each) % ports.length]
      try {
        return await fetch(`http://127.0.0.1:${next}${pathname}${search}`, {
          method: request.method,
          headers: request.headers,
          ...({ redirect: "manual", decompress: false } as const),
          // What breaks off on a connection that was used before would be sent once more.
          keepalive: false,
          signal: AbortSignal.timeout(patienceMs),
          ...(body.byteLength > 0 && { body }),
        })
      } catch (cause) {
        const isUnsent =
          cause instanceof Error && "code" in cause && refusals.has(String(cause.code))
        if (!isUnsent) return new Response(`the server went away: ${cause}`, { status: 502 })
      }
    }
    return new Response("nobody listens", { status: 503 })
  }
  const server = Bun.serve({ hostname: "127.0.0.1", port, idleTimeout: 60, fetch: forward })
  return {
    port: server.port ?? port,
    lead: (next) => {
      ports = next
    },
    stop: () => server.stop(true),
  }
}

const refusals = new Set(["ConnectionRefused", "ECONNREFUSED"])
