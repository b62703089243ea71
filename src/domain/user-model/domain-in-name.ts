import { foldExceptSigma } from "../../kernel/text/name.ts"
import { splitAtDomain } from "../../protocol/user-field.ts"
import { normalizeDomain } from "../org/index.ts"

/** The domain that a name ends in, normalized for comparison; empty if none. */
export function domainOfName(userName: string): string {
  const parts = splitAtDomain(foldExceptSigma(userName))
  return parts ? normalizeDomain(parts.domain) : ""
}
