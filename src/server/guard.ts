import { tooLargeError } from "../api/body.ts"
import { respondFault } from "../api/respond.ts"
import { requireInstance } from "../domain/instance/index.ts"
import { Fault } from "../kernel/fault.ts"
import { instanceOf } from "./caller.ts"
import type { ServerServices } from "./services.ts"

/**
 * The wall behind the limits of the modules, which refuse in words what declares itself too large
 * and count what does not.
 */
const bodyBytesMax = 16 * 1024 * 1024

/** Of the head of a request; what is twice as large, the listener refuses without a word. */
export const headBytesMax = 16 * 1024

/** Refuses a request that nobody should look at, whatever it asks for. */
export function refusalOf(request: Request): Response | undefined {
  const fault = faultIn(request)
  return fault && respondFault(fault, { connection: "close" })
}

function faultIn({ url, headers }: Request): Fault | undefined {
  // Bun joins several Host headers, and gives no address for what is no host's name.
  if (headers.get("host")?.includes(",") || !URL.canParse(url)) return malformedError()
  if (Number(headers.get("content-length")) > bodyBytesMax) return tooLargeError(bodyBytesMax)
  let size = url.length
  headers.forEach((value, name) => {
    size += name.length + value.length + separators
  })
  return size > headBytesMax ? headTooLargeError() : undefined
}

/** RFC 9112 §5: a colon, a space and the end of the line. */
const separators = 4

/** RFC 9112 §3.2: 400, whatever else the request says. */
const malformedError = () =>
  new Fault("invalid_argument", "request.host_malformed", "the Host header is not a host's name")

const headTooLargeError = () =>
  new Fault(
    "resource_exhausted",
    "request.head_too_large",
    `address and headers are larger than ${headBytesMax / 1024} kB; remove cookies or parameters`,
  )

type Headers = Readonly<Record<string, string>>

/** What every answer tells browsers; `instance` is undefined where it is nobody's. */
export const securityHeaders = (services: ServerServices, instance: string | undefined): Headers =>
  instance !== undefined && isSecure(services, instance) ? overTls : plain

/** Fetch §3.6: an answer is never taken for another type than it says. */
const plain: Headers = { "x-content-type-options": "nosniff" }

/** RFC 6797 §6.1. Other names below this one are not ours to speak for. */
const overTls: Headers = { ...plain, "strict-transport-security": "max-age=31536000" }

const isSecure = ({ store }: ServerServices, instance: string): boolean =>
  requireInstance({ store, instance }).publicUrl.startsWith("https:")

/** The outermost step: puts on an answer what all have, by whatever way it came about. */
export function guarded(services: ServerServices, request: Request, response: Response): Response {
  const { headers } = response
  const instance = instanceOf(services, request.headers.get("host") ?? "")
  for (const [name, value] of Object.entries(securityHeaders(services, instance))) {
    headers.set(name, value)
  }
  if (headers.get("content-type")?.startsWith("text/html")) {
    headers.set("cross-origin-opener-policy", openerPolicy(request))
  }
  if (hasRest(request, response)) headers.set("connection", "close")
  return response
}

/**
 * Applications open the pages of a sign-in or sign-out in a window of their own, which must still
 * know its opener when it is back at them. That is lost for good on a page that says `same-origin`,
 * or `same-origin-allow-popups`, which is for those who open. No other page of ours is opened so.
 */
const openerPolicy = ({ url }: Request): string =>
  /^\/(oauth|oidc|idps|ui\/login)\//.test(URL.parse(url)?.pathname ?? "")
    ? "unsafe-none"
    : "same-origin"

/** A body that declares no length, and that nobody read to its end, might have none. */
const hasRest = ({ headers, bodyUsed }: Request, { status }: Response): boolean =>
  headers.has("transfer-encoding") && (!bodyUsed || status === 413)
