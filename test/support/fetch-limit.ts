/**
 * A `fetch` that rejects if no response starts within `limitMs`, with an error that names the
 * request. A request with its own signal is not limited.
 */
export function limitedFetch(send: typeof fetch, limitMs: number): typeof fetch {
  const limited = async (input: string | URL | Request, init: RequestInit = {}) => {
    if (init.signal || input instanceof Request) return send(input, init)
    const controller = new AbortController()
    const late = new Error(`no answer within ${limitMs} ms: ${init.method ?? "GET"} ${input}`)
    // timer: it aborts hanging requests, and no test waits for it
    const timer = setTimeout(() => controller.abort(late), limitMs)
    try {
      return await send(input, { ...init, signal: controller.signal })
    } finally {
      clearTimeout(timer)
    }
  }
  return Object.assign(limited, { preconnect: send.preconnect })
}

let isLimited = false

/** Limits every `fetch` of this thread, once: files that share modules also share globals. */
export function limitFetch(limitMs: number): void {
  if (isLimited) return
  isLimited = true
  globalThis.fetch = limitedFetch(globalThis.fetch, limitMs)
}
