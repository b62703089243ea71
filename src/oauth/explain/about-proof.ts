import { decodeJwt, decodeProtectedHeader } from "jose"
import { about, because, type Finding, findingOfAddress } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import { expected } from "../client/assertion.ts"
import { proofAlgorithms } from "../client/proof.ts"
import { ownOf } from "../own.ts"
import type { Refused } from "./explain.ts"

/** RFC 9449 §4.3: what a DPoP proof says, beside what it must say for this request. */
export async function proofFindings(cx: Cx, refused: Refused): Promise<readonly Finding[]> {
  const { dpop, error, method, path } = refused
  if (error !== "invalid_dpop_proof" || dpop === null) return []
  const said: Readonly<Record<string, unknown>> | undefined = await expected(() => ({
    ...decodeProtectedHeader(dpop),
    ...decodeJwt(dpop),
  }))
  if (!said) return [about("DPoP", "assertion.no_jwt")]
  const [typ, alg, htm, htu] = [said.typ, said.alg, said.htm, said.htu].map(textOf)
  const address = ownOf(cx).issuer + path
  const age = Math.floor(cx.clock.now() / 1000) - Number(said.iat)
  const wrong: readonly (Finding | false)[] = [
    typ !== "dpop+jwt" && { subject: "typ", received: typ ?? "", expected: ["dpop+jwt"] },
    !proofAlgorithms.some((known) => known === alg) && {
      ...{ subject: "alg", received: alg ?? "", expected: proofAlgorithms },
    },
    htm !== method && { subject: "htm", received: htm ?? "", expected: [method] },
    withoutQuery(htu ?? "") !== address && findingOfAddress("htu", htu ?? "", [address]),
    !(Math.abs(age) <= ageMax) && {
      ...{ subject: "iat", received: `${age} s old`, expected: [`at most ${ageMax} s old`] },
      ...because("iat", "assertion.clock"),
    },
  ]
  const found = wrong.filter((each) => each !== false)
  return found.length > 0 ? found : [about("DPoP", "dpop.other")]
}

const ageMax = 60

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const withoutQuery = (address: string): string => address.replace(/[?#].*$/s, "")
