import { Code, ConnectError } from "@connectrpc/connect"
import { accessToken, tokenAfter } from "./session.ts"

/**
 * What an operation answers, as plain JSON; undefined where the person may not see it. For the few
 * readings around every page: the descriptors of their services weigh more than all of the shell.
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
    answer = await send(method, body, { ...asking, token: await tokenAfter(token) })
  }
  // What is not read holds its connection, of which a browser has few.
  if (!answer.ok) await answer.body?.cancel()
  if (answer.status === 403) return undefined
  if (!answer.ok) throw new ConnectError(answer.statusText, Code.Unavailable)
  return answer.json()
}

type CallOptions = {
  readonly signal: AbortSignal
  /** The organisation that is meant, where the operation has no field for it. */
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
