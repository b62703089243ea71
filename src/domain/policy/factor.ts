import { Fault } from "../../kernel/fault.ts"
import type { Cx, Receipt } from "../../store/index.ts"
import { changePolicy, type PolicyOwner } from "./commands.ts"
import { type Login, login } from "./login.ts"

type FactorList = "secondFactors" | "multiFactors"

/** Allows a factor. */
export const addFactor = <L extends FactorList>(
  cx: Cx,
  owner: PolicyOwner,
  { list, factor }: { readonly list: L; readonly factor: Login[L][number] },
): Promise<Receipt> =>
  changePolicy(cx, owner, {
    policy: login,
    isPartial: true,
    apply: (before) => {
      const allowedFactors: readonly string[] = before[list]
      if (allowedFactors.includes(factor)) throw factorExistsError()
      return { [list]: [...allowedFactors, factor] }
    },
  })

/** Disallows a factor. Rejects removing the last one while a factor is required. */
export const removeFactor = <L extends FactorList>(
  cx: Cx,
  owner: PolicyOwner,
  { list, factor }: { readonly list: L; readonly factor: Login[L][number] },
): Promise<Receipt> =>
  changePolicy(cx, owner, {
    policy: login,
    isPartial: true,
    apply: (before) => {
      const allowedFactors: readonly string[] = before[list]
      if (!allowedFactors.includes(factor)) throw factorNotFoundError()
      return { [list]: allowedFactors.filter((each) => each !== factor) }
    },
  })

const factorExistsError = () =>
  new Fault("already_exists", "policy.factor_exists", "this factor is already allowed")

const factorNotFoundError = () =>
  new Fault("not_found", "policy.factor_missing", "this factor is not among the allowed factors")
