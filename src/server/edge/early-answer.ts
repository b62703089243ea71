import type { Clock } from "../../kernel/clock.ts"
import { isReadToEnd } from "../../protocol/body.ts"

/** How much of a request is still received after its answer, and for how long. */
const drainBytesMax = 2 * 1024 * 1024
const drainMs = 2_000

/**
 * RFC 9112 §9.6: closes the connection of a request that is answered before its body has arrived.
 * A client that still sends would lose the answer if the connection closed at once: the answer is
 * sent, its end follows when the rest has arrived or a limit is reached, and then the connection
 * closes.
 */
export function closeEarlyAnswer(
  request: Request,
  response: Response,
  clock: Clock,
): Response | Promise<Response> {
  if (!hasRest(request, response)) return response
  const { headers, status, statusText } = response
  headers.set("connection", "close")
  const rest = request.body
  if (!rest || rest.locked) return response
  if (request.method === "HEAD" || withoutBody.has(status)) {
    return drain(rest, clock).then(() => response)
  }
  const body = followedBy(response.body, () => drain(rest, clock))
  return new Response(body, { status, statusText, headers })
}

/** Fetch §2.2.3: a response with one of these statuses has no body. */
const withoutBody: ReadonlySet<number> = new Set([204, 205, 304])

/** Whether more can arrive than the listener skips by itself. */
function hasRest(request: Request, response: Response): boolean {
  const { headers } = request
  if (headers.has("transfer-encoding")) return !isReadToEnd(request)
  // The listener skips the rest of a declared length, unless the connection closes before.
  return headers.has("content-length") && !request.bodyUsed && isClosing(request, response)
}

const isClosing = ({ headers: sent }: Request, { headers }: Response): boolean =>
  headers.get("connection") === "close" || sent.get("connection")?.toLowerCase() === "close"

/** A body that ends only when `before` has. */
function followedBy(
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

/** Receives and discards a body until it ends, its sender leaves, or a limit is reached. */
async function drain(body: ReadableStream<Uint8Array>, clock: Clock): Promise<void> {
  const reader = body.getReader()
  const { promise: expired, resolve: expire } = Promise.withResolvers<undefined>()
  const timer = clock.after(drainMs, () => expire(undefined))
  // A sender that leaves needs no answer any more.
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
