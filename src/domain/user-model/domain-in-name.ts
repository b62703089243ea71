import { foldExceptSigma } from "../../kernel/text/name.ts"
import { partsOf } from "../../protocol/user-field.ts"
import { domainOf } from "../org/index.ts"

/** The domain that a name ends in, in the form in which domains are compared; empty for none. */
export function domainInName(userName: string): string {
  const parts = partsOf(foldExceptSigma(userName))
  return parts ? domainOf(parts.domain) : ""
}
