import { foldExceptSigma } from "../../../kernel/text/name.ts"
import { domainOf } from "../../org/index.ts"

/** The parts of a name around its last "@"; undefined where it has no domain. */
export function partsOf(name: string) {
  const at = name.lastIndexOf("@")
  if (at < 1 || at === name.length - 1) return undefined
  return { local: name.slice(0, at), domain: name.slice(at + 1) }
}

/** The domain that a name ends in, in the form in which domains are compared; empty for none. */
export function domainInName(userName: string): string {
  const parts = partsOf(foldExceptSigma(userName))
  return parts ? domainOf(parts.domain) : ""
}
