import { Code, ConnectError } from "@connectrpc/connect"
import { accessToken, renewToken } from "./session.ts"

/**
 * Calls an operation and returns its response as JSON; undefined if the caller lacks permission.
 * Used for the few requests of the layout, because descriptors would be larger than the rest of the
 * shell.
 */
export async function callJson(
  method: string,
  body: object,
  asking: CallOptions,
): Promise<Record<string, unknown> | undefined> {
  const token = await accessToken()
  let answer = await send(method, body, { ...asking, token })
  if (answer.status === 401) {
    await answer.body?.cancel()
    answer = await send(method, body, { ...asking, token: await renewToken(token) })
  }
  // An unread body would occupy one of the browser's few connections.
  if (!answer.ok) await answer.body?.cancel()
  if (answer.status === 403) return undefined
  if (!answer.ok) throw new ConnectError(answer.statusText, Code.Unavailable)
  return answer.json()
}

type CallOptions = {
  readonly signal: AbortSignal
  /** The organization header, for operations without a field for it. */
  readonly within?: string | undefined
}

type SendOptions = CallOptions & { readonly token: string }

const send = (method: string, body: object, { token, signal, within }: SendOptions) =>
  fetch(`/${method}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      ...(within && { "x-core-orgid": within }),
    },
    body: JSON.stringify(body),
    signal,
  })
