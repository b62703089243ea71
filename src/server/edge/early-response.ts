import type { Clock } from "../../kernel/clock.ts"
import { isBodyComplete } from "../../protocol/body.ts"

/** How much of a request body is received after the response, and for how long. */
const drainBytesMax = 2 * 1024 * 1024
const drainMs = 2_000

/**
 * RFC 9112 §9.6: closes the connection of a request whose response is sent before its body has
 * arrived. A client that is still sending would lose the response if the connection closed
 * immediately: the end of the response is sent after the rest of the body has arrived or a limit is
 * reached, and then the connection closes.
 */
export function closeEarlyResponse(
  request: Request,
  response: Response,
  clock: Clock,
): Response | Promise<Response> {
  if (!hasUnreadBody(request, response)) return response
  const { headers, status, statusText } = response
  headers.set("connection", "close")
  const rest = request.body
  if (!rest || rest.locked) return response
  if (request.method === "HEAD" || bodilessStatuses.has(status)) {
    return discardBody(rest, clock).then(() => response)
  }
  const body = withDelayedEnd(response.body, () => discardBody(rest, clock))
  return new Response(body, { status, statusText, headers })
}

/** Fetch §2.2.3: a response with one of these statuses has no body. */
const bodilessStatuses: ReadonlySet<number> = new Set([204, 205, 304])

/** Whether more data can arrive than the listener discards. */
function hasUnreadBody(request: Request, response: Response): boolean {
  const { headers } = request
  if (headers.has("transfer-encoding")) return !isBodyComplete(request)
  // The listener discards the rest of a declared length, unless the connection closes first.
  return headers.has("content-length") && !request.bodyUsed && isClosing(request, response)
}

const isClosing = ({ headers: sent }: Request, { headers }: Response): boolean =>
  headers.get("connection") === "close" || sent.get("connection")?.toLowerCase() === "close"

/** A body that ends only after `before` has completed. */
function withDelayedEnd(
  body: ReadableStream<Uint8Array> | null,
  before: () => Promise<void>,
): ReadableStream<Uint8Array> {
  const reader = body?.getReader()
  return new ReadableStream({
    pull: async (controller) => {
      const part = await reader?.read()
      if (part && !part.done) return controller.enqueue(part.value)
      await before()
      controller.close()
    },
    cancel: (reason) => reader?.cancel(reason),
  })
}

/** Receives and discards a body until its end, a disconnect or a limit. */
async function discardBody(body: ReadableStream<Uint8Array>, clock: Clock): Promise<void> {
  const reader = body.getReader()
  const { promise: expired, resolve: expire } = Promise.withResolvers<undefined>()
  const timer = clock.after(drainMs, () => expire(undefined))
  // A client that disconnects needs no response.
  const next = () => reader.read().catch(() => undefined)
  try {
    for (let size = 0; size < drainBytesMax; ) {
      const part = await Promise.race([next(), expired])
      if (!part || part.done) return
      size += part.value.byteLength
    }
  } finally {
    timer.stop()
    await reader.cancel().catch(() => undefined)
  }
}
