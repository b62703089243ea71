/** A proxy that distributes requests over several servers in turn, as a load balancer would. */
export type RoundRobin = {
  readonly port: number
  /** Distributes requests over these from now on. */
  readonly setPorts: (ports: readonly number[]) => void
  readonly stop: () => Promise<void>
}

/**
 * Servers that refuse connections are skipped; a request that is interrupted, or has no response
 * after `patienceMs`, gets 502, once.
 */
export function startRoundRobin(port: number, { patienceMs = 60_000 } = {}): RoundRobin {
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
          // A request on a reused connection would be repeated when interrupted.
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
    setPorts: (next) => {
      ports = next
    },
    stop: () => server.stop(true),
  }
}

const refusals = new Set(["ConnectionRefused", "ECONNREFUSED"])
