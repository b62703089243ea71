import { about, because, type Finding, findingOfAddress } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import { ageMaxSeconds, proofAlgorithms } from "../client/proof.ts"
import { ownOf } from "../own.ts"
import { saidIn, textOf } from "./about-jwt.ts"
import type { Refused } from "./explain.ts"

/** RFC 9449 §4.3: what a DPoP proof says, beside what it must say for this request. */
export async function proofFindings(cx: Cx, refused: Refused): Promise<readonly Finding[]> {
  const { dpop, error, method, path } = refused
  if (error !== "invalid_dpop_proof" || dpop === null) return []
  const said = await saidIn(dpop)
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
    !(Math.abs(age) <= ageMaxSeconds) && {
      ...{ subject: "iat", received: `${age} s old`, expected: [`at most ${ageMaxSeconds} s old`] },
      ...because("iat", "assertion.clock"),
    },
  ]
  const found = wrong.filter((each) => each !== false)
  return found.length > 0 ? found : [about("DPoP", "dpop.other")]
}

const withoutQuery = (address: string): string => address.replace(/[?#].*$/s, "")
