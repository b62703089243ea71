import { respond } from "../../api/respond.ts"
import { randomToken } from "../../kernel/crypto/random.ts"
import { reasonText } from "../../kernel/fault.ts"
import type { Network } from "../../runtime/network.ts"
import type { ServerServices } from "../services.ts"

type ProbeServices = Pick<ServerServices, "secrets" | "random">

/** Only the process that holds the keys can answer what it asks below it. */
const prefix = "/setup/reached/"
const isNonce = (text: string) => /^[\w-]{43}$/.test(text)
const about = "setup/reached"
const waitMs = 5000
const answerBytesMax = 1024

/** Answers whether an address leads to this server; undefined for all other paths. */
export function reachedAt({ secrets }: ProbeServices, pathname: string): Response | undefined {
  const nonce = pathname.startsWith(prefix) ? pathname.slice(prefix.length) : ""
  return isNonce(nonce) ? respond(secrets.seal("cookie", nonce, about), {}) : undefined
}

/**
 * Why an address doesn't lead to this server, such as "ENOTFOUND" or "HTTP 404"; undefined where
 * it does. The owner chose the address: it may be a private one.
 */
export async function whyNotReached(
  { secrets, random }: ProbeServices,
  publicUrl: string,
  send: Network["send"],
): Promise<string | undefined> {
  const nonce = randomToken(random)
  const signal = AbortSignal.timeout(waitMs)
  try {
    const answer = await send(`${publicUrl}${prefix}${nonce}`, { redirect: "manual", signal })
    const said = answer.ok ? await beginningOf(answer) : ""
    return secrets.open("cookie", said, about) === nonce ? undefined : `HTTP ${answer.status}`
  } catch (cause) {
    return reasonOf(cause)
  }
}

/** As much of an answer as one of ours can have. */
async function beginningOf({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body ?? []) {
    parts.push(part)
    bytes += part.byteLength
    if (bytes > answerBytesMax) break
  }
  return Buffer.concat(parts).toString("latin1")
}

function reasonOf(cause: unknown): string {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined
  return typeof code === "string" ? code : reasonText(cause)
}
