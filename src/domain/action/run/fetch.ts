import { errorText } from "../../../kernel/fault.ts"
import type { OutboundRequest } from "../../../kernel/port/outbound.ts"
import type { Cx } from "../../../store/index.ts"
import { isKnownHost } from "../../instance/index.ts"

/** The maximum size of a response in bytes. */
const sizeMax = 262_144
const timeoutMs = 10_000
const methods = ["GET", "POST", "PUT", "DELETE"] as const
/** Scripts can't set headers that control the connection. */
const connectionHeader =
  /^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|expect|accept-encoding)$/i

/**
 * `fetch` of `core/http`, with outbound restrictions. Errors are returned to the script as text.
 * Requests to this server are rejected, because a token request that runs a script that requests a
 * token would never end.
 */
export const createFetch =
  (cx: Cx) =>
  async (value: unknown): Promise<object> => {
    try {
      const request = parseRequest(value)
      // RFC 1034 §3.1: a trailing dot does not change a host name.
      if (isKnownHost(cx, new URL(request.url).hostname)) {
        return { error: "a script can't call the server that it runs on" }
      }
      return await cx.outside.send(request)
    } catch (cause) {
      return { error: errorText(cause) }
    }
  }

/** The value from the script can have any type. */
function parseRequest(value: unknown): OutboundRequest {
  const { url, method, headers, body } = fieldsOf(value)
  if (typeof url !== "string" || !URL.canParse(url)) throw new Error("url is invalid")
  const known = methods.find((each) => each === String(method).toUpperCase())
  if (!known) throw new Error(`method must be one of: ${methods.join(", ")}`)
  const headerEntries = Object.entries(fieldsOf(headers)).filter(
    ([name]) => !connectionHeader.test(name),
  )
  const isJson = typeof body === "string" && /^\s*[[{]/.test(body)
  const named = new Headers(headerEntries.map(([name, text]) => [name, String(text)]))
  if (isJson && !named.has("content-type")) named.set("content-type", "application/json")
  return {
    url,
    method: known,
    headers: Object.fromEntries(named),
    sizeMax,
    timeoutMs,
    ...(typeof body === "string" && known !== "GET" && { body }),
  }
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? Object.fromEntries(Object.entries(value)) : {}
