/**
 * A `fetch` that rejects where no answer begins within `limitMs`, with an error that names what was
 * requested. A request that has a signal of its own is left to that.
 */
export function limitedFetch(send: typeof fetch, limitMs: number): typeof fetch {
  const limited = async (input: string | URL | Request, init: RequestInit = {}) => {
    if (init.signal || input instanceof Request) return send(input, init)
    const gone = new AbortController()
    const late = new Error(`no answer within ${limitMs} ms: ${init.method ?? "GET"} ${input}`)
    // timer: it ends what hangs, and no test waits for it
    const timer = setTimeout(() => gone.abort(late), limitMs)
    try {
      return await send(input, { ...init, signal: gone.signal })
    } finally {
      clearTimeout(timer)
    }
  }
  return Object.assign(limited, { preconnect: send.preconnect })
}

let isLimited = false

/** Limits every `fetch` of this thread, once: files that share modules share their globals, too. */
export function limitFetch(limitMs: number): void {
  if (isLimited) return
  isLimited = true
  globalThis.fetch = limitedFetch(globalThis.fetch, limitMs)
}
