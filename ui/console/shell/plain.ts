import { Code, ConnectError } from "@connectrpc/connect"
import { accessToken, tokenAfter } from "./session.ts"

/**
 * What an operation answers, as plain JSON; undefined where the person may not see it. For the few
 * readings around every page: the descriptors of their services weigh more than all of the shell.
 */
export async function readPlain(
  method: string,
  body: object,
  signal: AbortSignal,
): Promise<Record<string, unknown> | undefined> {
  const token = await accessToken()
  let answer = await send(method, body, { token, signal })
  if (answer.status === 401) {
    answer = await send(method, body, { token: await tokenAfter(token), signal })
  }
  if (answer.status === 403) return undefined
  if (!answer.ok) throw new ConnectError(answer.statusText, Code.Unavailable)
  return answer.json()
}

type Sending = { readonly token: string; readonly signal: AbortSignal }

const send = (method: string, body: object, { token, signal }: Sending) =>
  fetch(`/${method}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  })
