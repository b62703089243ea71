import { respond } from "../../api/respond.ts"
import { randomToken } from "../../kernel/crypto/random.ts"
import { errorText } from "../../kernel/fault.ts"
import type { Network } from "../../runtime/network.ts"
import type { ServerServices } from "../services.ts"

type ProbeServices = Pick<ServerServices, "secrets" | "random">

/** Only a process with the same keys can create valid responses below this prefix. */
const prefix = "/setup/reached/"
const isNonce = (text: string) => /^[\w-]{43}$/.test(text)
const proofContext = "setup/reached"
const waitMs = 5000
const answerBytesMax = 1024

/** The response that proves that a URL leads to this server; undefined for all other paths. */
export function reachProofResponse(
  { secrets }: ProbeServices,
  pathname: string,
): Response | undefined {
  const nonce = pathname.startsWith(prefix) ? pathname.slice(prefix.length) : ""
  return isNonce(nonce) ? respond(secrets.seal("cookie", nonce, proofContext), {}) : undefined
}

/**
 * Why a URL does not lead to this server, such as "ENOTFOUND" or "HTTP 404"; undefined if it does.
 * The owner chooses the URL, so it can be private.
 */
export async function findReachError(
  { secrets, random }: ProbeServices,
  publicUrl: string,
  send: Network["send"],
): Promise<string | undefined> {
  const nonce = randomToken(random)
  const signal = AbortSignal.timeout(waitMs)
  try {
    const answer = await send(`${publicUrl}${prefix}${nonce}`, { redirect: "manual", signal })
    const proof = answer.ok ? await readStart(answer) : ""
    return secrets.open("cookie", proof, proofContext) === nonce
      ? undefined
      : `HTTP ${answer.status}`
  } catch (cause) {
    return reasonOf(cause)
  }
}

/** Reads at most the length of a valid response. */
async function readStart({ body }: Response): Promise<string> {
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
  return typeof code === "string" ? code : errorText(cause)
}
